"""Benchmarks, run by hand (``deploy/dev bench``). What they measured stands in RESULTS.md."""
