"""The demo: a small magazine about the sea, created in a new installation."""
