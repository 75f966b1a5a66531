"""PostgreSQL code shared by all packages."""
