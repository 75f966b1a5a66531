-- $1 position, $2 stream, $3 version, $4 at, $5 old, $6 epoch
\ir shared/move_checkpoint.sql
