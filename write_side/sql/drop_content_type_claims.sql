-- $1 ids
DELETE FROM write_side.content_type_claim WHERE id = ANY ($1::uuid[])
