"""The read model and its statements, on a real PostgreSQL."""
