"""The embedded PostgreSQL and the children, with real servers and real processes."""
