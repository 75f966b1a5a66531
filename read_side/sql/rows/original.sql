-- Replaces rows/translation.sql. The planner removes this join, so no partition of a locale is opened.
CROSS JOIN (SELECT NULL::text AS title, NULL::text AS texts, NULL::text AS fields) l
