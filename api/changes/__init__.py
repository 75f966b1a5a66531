"""The change feed over REST: pages and streams."""
