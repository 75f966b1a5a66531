|| ',"fields":' || e.fields || '}', ',') FILTER (WHERE e.id IS NOT NULL), ''), 'UTF8') END AS data
