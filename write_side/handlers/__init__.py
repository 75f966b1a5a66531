"""One handler a command: load, decide, return the decision."""
