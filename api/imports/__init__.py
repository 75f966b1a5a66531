"""Imports by HTTP and by the dashboard: the form, the worker that checks files, the result."""
