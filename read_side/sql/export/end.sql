        ) page
    ) weighed
    WINDOW newest AS (ORDER BY position DESC ROWS UNBOUNDED PRECEDING)
) sized
WHERE bytes_before < :bytes
ORDER BY position DESC
