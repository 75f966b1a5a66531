"""Backups of the event store with pgBackRest, and their verification."""
