-- $1 workspace, $2 names (ids or URLs)
-- All events of each file that has had one of the names. The conditions on the stream are those of the
-- index event_media. Subqueries are hashed, arrays only if the plan is made for these parameters.
SELECT topic, state, at FROM write_side.event
JOIN (
    SELECT DISTINCT originator_id FROM write_side.event
    WHERE originator_id LIKE 'media/%' AND split_part(originator_id, '/', 2) = $1
      AND (split_part(originator_id, '/', 3) IN (SELECT unnest($2::text[]))
           OR state::json ->> 'url' IN (SELECT unnest($2::text[])))
) AS named USING (originator_id)
ORDER BY notification_id
