-- The largest page (paging.py). Without a constant the planner would expect a tenth of all entries on the
-- page, and a server with default settings would compile the plan at each execution.
LIMIT 100
