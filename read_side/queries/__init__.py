"""Pages of entries that filters, sort keys and cursors select (ADR 44)."""
