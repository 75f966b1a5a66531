-- The checkpoint that this statement reads at, in one number (stamp.py).
(SELECT (epoch & 16777215) << 39 | position FROM read_model.checkpoint) AS stamp,
