-- $1 workspace, $2 name, $3 url, $4 environment, $5 types, $6 events, $7 include entry, $8 created, $9 position, $10 off, $11 changed at
INSERT INTO webhook
    (workspace, name, url, environment, types, events, include_entry, created, position, off,
     changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (workspace, name) DO UPDATE SET
    url = excluded.url, environment = excluded.environment, types = excluded.types,
    events = excluded.events, include_entry = excluded.include_entry, created = excluded.created,
    position = excluded.position, off = excluded.off, changed_at = excluded.changed_at
