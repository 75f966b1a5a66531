"""Read models made anew from the log: rebuild, rollback, verify."""
