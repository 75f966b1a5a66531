"""API keys and their callers."""
