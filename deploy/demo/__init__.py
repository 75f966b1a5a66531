"""The demo: a small magazine about the sea's edge, and how it comes into a new installation."""
