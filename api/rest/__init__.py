"""The REST endpoints (behaviour.md §4), with parts that GraphQL and the dashboard use."""
