-- What is particular to a read model on Citus (deploy/adr/0059): the rows of a workspace are on one worker.

-- One connection to each worker, as for all that writes a read model (projector/process.py).
SET LOCAL citus.multi_shard_modify_mode = 'sequential';

-- Each node has a copy.
SELECT create_reference_table('checkpoint');
SELECT create_reference_table('locale_partition');

SELECT create_distributed_table('workspace', 'slug', colocate_with => 'none');
SELECT create_distributed_table(name::regclass, 'workspace', colocate_with => 'workspace')
FROM unnest(ARRAY[
    'media', 'webhook', 'import_run', 'content_type', 'entry', 'entry_value', 'entry_locale',
    'entry_search', 'locale_count', 'past_slug', 'past_type', 'past_version', 'change', 'entry_count',
    'rendering', 'indexing']) AS name;
