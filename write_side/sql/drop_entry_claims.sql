-- $1 ids
DELETE FROM write_side.entry_claim WHERE id = ANY ($1::uuid[])
