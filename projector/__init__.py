"""The process that turns events into rows."""
