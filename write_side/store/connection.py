"""The type of a connection to PostgreSQL, of its own or lent by a pool."""

from __future__ import annotations

from typing import TypeAlias

import asyncpg

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
