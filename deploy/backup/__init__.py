"""Backups of the event store with pgBackRest: their verification, and a drill that destroys a
database and restores it."""
