-- In UTC, without microseconds. The one that is added fixes the number of digits. to_char takes twice the instructions.
|| ',"locale":' || shown.locale
|| ',"publishedAt":' || coalesce(left(to_json(date_bin('1 ms', e.published_at AT TIME ZONE interval '0', '2000-01-01') + interval '1 microsecond')::text, 24) || 'Z"', 'null')
|| ',"createdAt":' || left(to_json(date_bin('1 ms', e.created_at AT TIME ZONE interval '0', '2000-01-01') + interval '1 microsecond')::text, 24)
|| 'Z","updatedAt":' || left(to_json(date_bin('1 ms', e.updated_at AT TIME ZONE interval '0', '2000-01-01') + interval '1 microsecond')::text, 24)
|| 'Z"'
