"""The exceptions of an unavailable server, for code that continues without it."""

from __future__ import annotations

import asyncpg

FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Raised if a server does not respond, or refuses. InternalClientError: for example, if no host
leads."""
