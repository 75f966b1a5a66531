-- The log. The columns are those of the eventsourcing library, and the time.
--
-- notification_id is the position in the log. The append takes it from write_side.head, so positions
-- have no gaps and follow the order of commits. It takes the time there too, so no event is earlier than
-- the one before it. Stream names are ordered by their bytes, independent of
-- the database's collation, because a replay reads ranges of streams.

CREATE TABLE write_side.event (
    notification_id    bigint NOT NULL PRIMARY KEY,
    originator_id      text   COLLATE "C" NOT NULL,
    originator_version bigint NOT NULL,
    topic              text   NOT NULL,
    state              text   NOT NULL,
    at                 timestamptz NOT NULL,
    CONSTRAINT event_stream UNIQUE (originator_id, originator_version)
);

-- For the files of one workspace's media library (Repository.media).
CREATE INDEX event_media ON write_side.event (split_part(originator_id, '/', 2))
    WHERE originator_id LIKE 'media/%';
