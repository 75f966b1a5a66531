-- The entries of one of the first pages, directly from the index scan. Selecting keys first and then fetching
-- their rows, as other lists do, was slower when measured.
-- 300 is the largest page after the largest offset (paging.py). Without a constant the planner would expect a
-- tenth of all entries, and a server with default settings would compile the plan.
SELECT * FROM (
    SELECT *, ~position AS place FROM read_model.entry
    WHERE workspace = :workspace AND environment = :environment
      AND content_type_id = t.content_type_id AND status = t.status AND language = t.language
    ORDER BY ~position LIMIT 300
) newest ORDER BY place LIMIT :limit OFFSET :offset
