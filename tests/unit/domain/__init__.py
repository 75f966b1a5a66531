"""The domain, tested without a database."""
