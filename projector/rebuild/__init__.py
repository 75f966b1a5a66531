"""Rebuilds the read model from the log, and verifies it."""
