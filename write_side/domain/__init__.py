"""The domain model: content and the rules for changing it. It does no I/O (ADR 18)."""
