"""The log and all that may append to it: commands, domain, event store, imports."""
