-- $1 workspace, $2 name, $3 created, $4 changed at, $5 url, $6 environment, $7 types, $8 events, $9 include entry, $10 off, $11 position
INSERT INTO webhook
    (workspace, name, created, changed_at, url, environment, types, events, include_entry, off,
     position)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (workspace, name) DO UPDATE SET
    url = excluded.url, environment = excluded.environment, types = excluded.types,
    events = excluded.events, include_entry = excluded.include_entry, created = excluded.created,
    position = excluded.position, off = excluded.off, changed_at = excluded.changed_at
