"""The import wizard: upload, columns, preview, result. Its state is in the event store."""
