"""The process that delivers changes to webhook endpoints (ADR 49)."""
