"""The REST endpoints (specification §4), with parts that GraphQL and the dashboard use."""
