"""The API, without a server."""
