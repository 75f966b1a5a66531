"""Health, readiness and metrics, for operators and their machines."""
