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

-- Both indexes begin with a number that no two environments share, and compare no text: with the columns of
-- the scope in front, and a unique key, they cost the projector twice as much. The values of an entry:
CREATE INDEX entry_value_of_entry ON entry_value (position, list);
-- The values of a list in their order, and the newest entries first among those with equal values. The
-- other columns are included so that a walk reads the index only.
CREATE INDEX entry_value_by_key ON entry_value
    (list, key, (~position)) INCLUDE (workspace, environment, position);

ALTER TABLE entry_locale ADD PRIMARY KEY (workspace, partition_key, locale, id);

ALTER TABLE entry_search ADD PRIMARY KEY (workspace, environment, position, locale);
-- Without a list of pending rows, which each search would read.
CREATE INDEX entry_search_words ON entry_search USING gin (words) WITH (fastupdate = off);
CREATE INDEX entry_search_unread ON entry_search (workspace, environment, position) WHERE words IS NULL;

ALTER TABLE past_slug ADD PRIMARY KEY (workspace, environment, position);
-- The entry that had a slug at a given time released it later. With `until` in the key, a search for a
-- frequently reused slug skips all earlier uses.
CREATE INDEX past_slug_held ON past_slug
    (workspace, content_type_id, language, slug_hash, until) INCLUDE (since, position, id);

-- The versions of a list by the entry's position and by their end: the version at a moment is the first
-- that ended later.
ALTER TABLE past_version ADD PRIMARY KEY
    (workspace, environment, content_type_id, status, language, position, until);
-- Of each class of lifetimes, the versions that began shortly before a moment (lifetimes.py).
CREATE INDEX past_version_by_lifetime ON past_version
    (workspace, environment, content_type_id, status, language, lifetime, updated_at)
    INCLUDE (until, position);

ALTER TABLE change ADD PRIMARY KEY (workspace, environment, position);
-- The changes that a request selects are merged from those of each kind, so that the rare ones are found
-- without passing the others. As above, each index has an order of its own.
CREATE INDEX change_of_kind ON change
    (workspace, kind, published, (~position)) INCLUDE (environment, position);
CREATE INDEX change_of_type ON change
    (workspace, content_type, kind, published, (-position)) INCLUDE (environment, position);
