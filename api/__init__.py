"""The API processes: HTTP in front of commands and queries."""
