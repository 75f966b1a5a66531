"""The embedded PostgreSQL and child processes, with real servers and real processes."""
