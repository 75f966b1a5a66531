"""Writes the day on which each key was last used, after the requests that used them."""

from __future__ import annotations

import asyncio
from datetime import date

import structlog

from api.auth.keys import AT_ONCE, PATIENCE
from write_side.postgres.connection import Fetch
from write_side.store import access

INTERVAL = 10.0
"""Seconds between two writes."""
_log = structlog.get_logger("api.key_uses")


class KeyUses:
    """Uses wait in memory, one per key and day. A killed process loses uses that it has not
    written, until the key is used again."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._days: dict[str, date] = {}
        self._waiting: dict[date, list[str]] = {}
        self._away = False

    def record(self, key_id: str, day: date) -> None:
        if self._days.get(key_id) != day:
            self._days[key_id] = day
            self._waiting.setdefault(day, []).append(key_id)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await self.write()

    async def write(self) -> None:
        """Writes the waiting uses. What cannot be written is tried again next time."""
        for day in sorted(self._waiting):
            ids = self._waiting[day]
            while some := ids[:AT_ONCE]:
                try:
                    async with asyncio.timeout(PATIENCE):
                        await access.record_use(self._fetch, some, day)
                except Exception as error:
                    if not self._away:
                        _log.warning("key uses cannot be written", fault=repr(error))
                    self._away = True
                    return
                self._away = False
                del ids[: len(some)]
            del self._waiting[day]
