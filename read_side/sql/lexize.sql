-- $1 dictionary, $2 words
-- The lexemes of words; null for a word that the dictionary does not know, none for a stop word.
SELECT word, ts_lexize($1::regdictionary, word) AS lexemes FROM unnest($2::text[]) AS given (word)
