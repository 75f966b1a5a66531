-- The usage of the quotas of each workspace's plan. bound is the plan's limit, null if there is none.

CREATE TABLE write_side.usage (
    workspace   text   NOT NULL,
    environment text   NOT NULL,
    quota       text   NOT NULL,
    used        bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
    bound       bigint,
    PRIMARY KEY (workspace, environment, quota)
) WITH (fillfactor = 50);
