"""The log and all code that appends to it: commands, domain, event store, imports."""
