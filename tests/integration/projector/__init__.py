"""The projector against a real PostgreSQL."""
