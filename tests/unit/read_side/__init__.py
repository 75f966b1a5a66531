"""The read side, without a database."""
