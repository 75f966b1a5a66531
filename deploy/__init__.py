"""What makes processes of the packages: settings, the command line, embedded PostgreSQL."""
