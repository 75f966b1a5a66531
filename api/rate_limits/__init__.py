"""Rate limits (behaviour.md §8): so many requests a minute, counted across all API processes."""
