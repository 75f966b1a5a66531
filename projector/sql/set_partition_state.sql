-- $1 environment, $2 locale, $3 state
UPDATE locale_partition SET state = $3 WHERE environment = $1 AND locale = $2
