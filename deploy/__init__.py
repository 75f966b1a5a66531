"""The processes: settings, the command line, the embedded PostgreSQL, the demo."""
