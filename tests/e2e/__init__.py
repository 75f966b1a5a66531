"""End-to-end tests: real processes, databases and browsers."""
