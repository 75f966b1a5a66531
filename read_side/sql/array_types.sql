-- no parameters
-- An empty array of each type that statements take or return.
SELECT '{}'::bigint[], '{}'::boolean[], '{}'::bytea[], '{}'::int[], '{}'::real[], '{}'::text[], '{}'::timestamptz[],
       '{}'::uuid[]
