-- Only a function has changed (change_claims), and functions are replaced after every migration.
SELECT
