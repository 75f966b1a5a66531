-- Keys and indexes of the tables that grow with the entries. They are apart from the tables, so that
-- a rebuild can fill these first: an index made at once costs a fraction of one kept up row by row.

ALTER TABLE entry ADD PRIMARY KEY (workspace, environment, id);
-- Not unique: claims see to that, and a batch in which entries swap slugs is written row by row.
CREATE INDEX entry_slug ON entry (workspace, content_type_id, language, slug_hash);
-- Each list is an index scan; id and environment are included so that a deep offset is skipped over
-- narrow keys alone (PostgreSQL asks a partition for its environment, though it has but one).
CREATE INDEX entry_by_type ON entry
    (workspace, content_type_id, status, language, created_at DESC, position DESC) INCLUDE (id, environment);
CREATE INDEX entry_of_any_status ON entry
    (workspace, content_type_id, created_at DESC, position DESC) INCLUDE (id, environment);
CREATE INDEX entry_newest ON entry (workspace, created_at DESC, position DESC) INCLUDE (id, environment);

ALTER TABLE entry_locale ADD PRIMARY KEY (workspace, environment, locale, id);

ALTER TABLE past_slug ADD PRIMARY KEY (workspace, environment, position);
-- Whoever had it at a time gave it up later: a slug that is used again and again is not searched
-- from its first use on.
CREATE INDEX past_slug_held ON past_slug
    (workspace, content_type_id, language, slug_hash, until) INCLUDE (since, position, id);
