    -- The content type that had the slug at that time: either it still has it, or it was removed later.
    SELECT c.id, NULL::bigint AS position FROM read_model.content_type c
    WHERE (c.workspace, c.environment, c.slug) = (:workspace, :environment, :type_slug) AND c.created_at <= :at
    UNION ALL
    SELECT p.id, p.position FROM read_model.past_type p
    WHERE (p.workspace, p.environment, p.slug) = (:workspace, :environment, :type_slug)
      AND p.since <= :at AND p.until > :at
    ORDER BY position DESC NULLS FIRST LIMIT 1
