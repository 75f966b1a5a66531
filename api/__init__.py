"""The aiohttp process: HTTP in front of commands and queries."""
