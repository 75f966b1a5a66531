"""The ground floor: what content is and how it may change. It does no I/O (ADR 18)."""
