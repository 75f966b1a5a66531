"""Exports: entries as CSV and .xlsx, in the format that imports read."""
