            ) c
            WINDOW newest_first AS (ORDER BY block DESC ROWS UNBOUNDED PRECEDING)
        ) counted
        WHERE through > :offset ORDER BY block DESC LIMIT 1
    ) next
)
SELECT block, below, skipped, through FROM descent WHERE level > 0 ORDER BY level DESC LIMIT 1
