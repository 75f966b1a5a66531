-- no parameters
-- As rows/stamp.sql.
SELECT (epoch & 16777215) << 39 | position AS stamp FROM read_model.checkpoint
