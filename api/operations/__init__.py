"""Health, readiness and metrics, for operators and monitoring."""
