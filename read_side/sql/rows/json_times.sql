',"locale":', to_json(shown.locale),
',"publishedAt":', coalesce(to_char(e.published_at AT TIME ZONE 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\""'), 'null'),
',"createdAt":', to_char(e.created_at AT TIME ZONE 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\""'),
',"updatedAt":', to_char(e.updated_at AT TIME ZONE 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\""'),
