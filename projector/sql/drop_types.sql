-- $1 workspaces, $2 ids
WITH gone AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::uuid[]) AS gone (workspace, id)
), renderings AS (
    DELETE FROM rendering r USING gone WHERE (r.workspace, r.content_type_id) = (gone.workspace, gone.id)
), incomplete AS (
    DELETE FROM indexing i USING gone WHERE (i.workspace, i.content_type_id) = (gone.workspace, gone.id)
)
DELETE FROM content_type t USING gone WHERE (t.workspace, t.id) = (gone.workspace, gone.id)
