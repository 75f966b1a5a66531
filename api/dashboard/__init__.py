"""The dashboard: HTML pages rendered on the server; most work without JavaScript."""
