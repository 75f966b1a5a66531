"""The change feed over REST: pages, streams and their tokens."""
