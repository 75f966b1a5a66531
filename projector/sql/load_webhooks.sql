-- $1 workspaces, $2 names
SELECT workspace, name, url, environment, types, events, include_entry, created, position, off, changed_at
FROM webhook JOIN unnest($1::text[], $2::text[]) AS wanted (workspace, name) USING (workspace, name)
