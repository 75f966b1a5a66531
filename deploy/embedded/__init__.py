"""The PostgreSQL that comes with the installation, started and stopped by those who use it."""
