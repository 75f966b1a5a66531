-- Keys and indexes of the tables that grow with the entries. A rebuild fills these tables first and then
-- creates the indexes, which is much faster than updating them row by row.

ALTER TABLE entry ADD PRIMARY KEY (workspace, environment, id);
-- Not unique: claims enforce uniqueness, and in a batch in which entries swap slugs, two rows can have
-- the same slug for a moment (deploy/adr/0004).
CREATE INDEX entry_slug ON entry (workspace, content_type_id, language, slug_hash);
-- Each list is an index scan. Events get their time in the order of their positions (deploy/adr/0025), so
-- the newest entries are those with the highest positions. The other columns are included so that
-- skipping reads narrow index keys only (PostgreSQL reads the environment even though each partition has
-- only one).
--
-- Each index has an order of its own (~position is -position - 1), and a statement orders by that of the
-- index that it is for. If all of them had the order of the position, the planner could filter a scan of
-- `entry_newest`, and find the only draft of a workspace by visiting all of its entries.
CREATE INDEX entry_by_type ON entry
    (workspace, content_type_id, status, language, (~position)) INCLUDE (id, environment, position);
CREATE INDEX entry_of_any_status ON entry
    (workspace, content_type_id, (-position)) INCLUDE (id, environment, position);
CREATE INDEX entry_newest ON entry (workspace, position DESC) INCLUDE (id, environment);

ALTER TABLE entry_locale ADD PRIMARY KEY (workspace, partition_key, locale, id);

ALTER TABLE past_slug ADD PRIMARY KEY (workspace, environment, position);
-- The entry that had a slug at a given time released it later. With `until` in the key, a search for a
-- frequently reused slug skips all earlier uses.
CREATE INDEX past_slug_held ON past_slug
    (workspace, content_type_id, language, slug_hash, until) INCLUDE (since, position, id);
