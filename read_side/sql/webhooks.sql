-- no parameters
SELECT workspace, name, url, environment, types, events, include_entry, created, position, off, changed_at
FROM read_model.webhook
