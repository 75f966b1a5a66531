-- $1 ids
DELETE FROM write_side.key_claim WHERE id = ANY ($1::text[])
