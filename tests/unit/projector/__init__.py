"""The projection, without a database."""
