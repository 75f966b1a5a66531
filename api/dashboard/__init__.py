"""The dashboard: HTML pages rendered on the server, usable without JavaScript where possible."""
