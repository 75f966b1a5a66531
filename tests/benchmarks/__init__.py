"""Benchmarks, run by hand with ``deploy/dev bench``. RESULTS.md has their results."""
