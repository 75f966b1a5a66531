-- Only functions have changed, and functions are replaced after every migration.
SELECT
