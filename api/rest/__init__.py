"""The REST endpoints (specification §4), and what the other doors share with them."""
