"""Whether a read model is on one PostgreSQL or on a Citus cluster (ADR 59)."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from write_side.postgres.connection import Connection

_IS_CITUS = "SELECT current_setting('contentlog.read_model_engine', true) = 'citus'"
_known: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


async def is_distributed(connection: Connection) -> bool:
    """Whether the connection's setting ``contentlog.read_model_engine`` is "citus". Asked once."""
    if connection not in _known:
        _known[connection] = bool(await connection.fetchval(_IS_CITUS))
    return _known[connection]
