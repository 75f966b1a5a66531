"""Benchmarks, run by hand (``deploy/dev bench``). RESULTS.md has their results."""
