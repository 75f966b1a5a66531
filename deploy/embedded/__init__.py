"""The PostgreSQL that comes with the installation, started and stopped by the processes that use
it."""
