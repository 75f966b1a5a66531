"""HTTP itself: connections, headers, compression, logging."""
