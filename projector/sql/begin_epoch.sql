-- no parameters
WITH begun AS (
    UPDATE checkpoint SET epoch = epoch + 1
    -- All columns: the caller checks the shape first, because a different shape may have other columns.
    RETURNING *
)
-- Readers read the live read model, so only that one notifies them; on Citus, announce.sql does.
SELECT begun.*,
    CASE WHEN current_schema() = 'read_model' AND to_regclass('projector.announced') IS NULL THEN pg_notify('contentlog_projected',
    json_build_object('epoch', epoch, 'from', position, 'to', position, 'changed', NULL)::text) END
FROM begun
