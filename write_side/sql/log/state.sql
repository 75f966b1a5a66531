-- The state, or null if it is of a workspace that is not among :workspaces. An event begins with its
-- workspace; the state of one that does not is returned, and the reader decides. Only the beginning of
-- a long state is decompressed.
CASE WHEN :workspaces::text[] IS NULL
       OR left(state, 14) <> '{"workspace":"'
       OR split_part(left(state, 80), '"', 4) = ANY (:workspaces)
     THEN state END AS state
