"""Tests against a real PostgreSQL, by package."""
