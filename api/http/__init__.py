"""HTTP: connections, headers, compression, request log."""
