-- no parameters
SELECT position FROM write_side.head FOR UPDATE
