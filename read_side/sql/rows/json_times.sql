-- Many entries are published as they are created, and never changed: their times are formatted once.
|| ',"locale":' || shown.locale
|| ',"publishedAt":' || CASE WHEN e.published_at = e.created_at THEN e.created
    ELSE coalesce(left(to_json(date_bin('1 ms', e.published_at AT TIME ZONE interval '0', '2000-01-01') + interval '1 microsecond')::text, 24) || 'Z"', 'null') END
|| ',"createdAt":' || e.created
|| ',"updatedAt":' || CASE WHEN e.updated_at = e.created_at THEN e.created
    ELSE left(to_json(date_bin('1 ms', e.updated_at AT TIME ZONE interval '0', '2000-01-01') + interval '1 microsecond')::text, 24) || 'Z"' END
