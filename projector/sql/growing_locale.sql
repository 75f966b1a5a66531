-- no parameters
SELECT environment, locale, state FROM locale_partition WHERE state <> 'settled' ORDER BY 1, 2 LIMIT 1
