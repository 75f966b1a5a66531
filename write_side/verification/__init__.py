"""Checks the claims against the log, and repairs them from it."""
