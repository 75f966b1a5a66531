-- The files of a workspace's media library, whatever the collation of the database.

CREATE INDEX event_media ON write_side.event (split_part(originator_id, '/', 2))
    WHERE originator_id LIKE 'media/%';
