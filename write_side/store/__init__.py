"""The event store: recorder, append, mapper, migrations."""
