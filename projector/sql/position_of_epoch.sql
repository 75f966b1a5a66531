-- $1 epoch
SELECT position FROM checkpoint WHERE epoch = $1
