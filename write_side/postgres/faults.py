"""The faults of a server, for code that goes on without it."""

from __future__ import annotations

import asyncpg

FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""The exceptions for a server that does not respond, or that refuses. InternalClientError: for
example, if no host leads."""
