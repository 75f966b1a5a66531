-- $1 content type ids
INSERT INTO rendering (content_type_id) SELECT unnest($1::uuid[])
ON CONFLICT (content_type_id) DO UPDATE SET position = NULL
