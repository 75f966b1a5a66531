"""One handler per command: load, decide, return the decision."""
