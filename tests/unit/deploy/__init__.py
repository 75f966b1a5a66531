"""Settings, the command line and the demo, without a server."""
