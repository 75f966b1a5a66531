"""Rate limits (behaviour.md §8): requests per minute, counted across all API processes."""
