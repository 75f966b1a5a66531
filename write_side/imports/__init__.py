"""Spreadsheets in: reading files, matching columns, turning rows into commands."""
