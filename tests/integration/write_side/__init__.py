"""Tests of the write side against a real PostgreSQL."""
