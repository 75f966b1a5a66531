"""An event store clock that a test can move."""

from __future__ import annotations

import atexit
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

from tests.databases import owner_of

_FILE = Path(tempfile.gettempdir()) / f"contentlog-test-clock-{os.getpid()}"
atexit.register(_FILE.unlink, missing_ok=True)
_FOLLOW = f"""
CREATE OR REPLACE FUNCTION write_side.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
SECURITY DEFINER AS $$
    SELECT pg_read_file('{_FILE}')::timestamptz
$$"""


class _Movable(type):
    """The time is in a file that PostgreSQL reads."""

    @property
    def time(cls) -> datetime:
        return datetime.fromisoformat(_FILE.read_text())

    @time.setter
    def time(cls, time: datetime) -> None:
        # Replaced as a whole, because PostgreSQL may read it at any time.
        new = _FILE.with_suffix(".new")
        new.write_text(time.isoformat())
        new.chmod(0o644)
        new.replace(_FILE)


class Clock(metaclass=_Movable):
    """A clock that stands still until a test sets its time."""


BEGINNING = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


async def follow_clock(url: str) -> None:
    """Makes this database's event store use Clock, which starts at BEGINNING."""
    Clock.time = BEGINNING
    connection = await asyncpg.connect(owner_of(url))
    await connection.execute(_FOLLOW)
    await connection.execute("UPDATE write_side.head SET at = 'epoch'")
    await connection.close()
