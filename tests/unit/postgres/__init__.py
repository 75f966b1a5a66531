"""What all packages that use PostgreSQL share."""
