-- The time of creation of entry e as JSON: in UTC, without microseconds. The one that is added fixes the number of
-- digits. to_char takes twice the instructions.
left(to_json(date_bin('1 ms', e.created_at AT TIME ZONE interval '0', '2000-01-01') + interval '1 microsecond')::text, 24) || 'Z"' AS created
