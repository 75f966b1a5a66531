"""Code shared by all packages that use PostgreSQL."""
