"""Faults of a server that is unavailable, for code that tries again or continues without it."""

from __future__ import annotations

import time
from typing import Any

import asyncpg

FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Raised if a server does not respond, or refuses. InternalClientError: for example, if no host
leads."""
AGAIN = 60.0
"""Seconds after which a fault that lasts is logged again."""


class FaultLog:
    """Logs the faults of repeated attempts as warnings with the text ``event``: the same fault once
    a minute, not at each attempt."""

    def __init__(self, log: Any, event: str) -> None:
        self._log = log
        self._event = event
        self._last: str | None = None
        self._logged = 0.0

    def add(self, fault: Exception | str) -> None:
        text, now = fault if isinstance(fault, str) else repr(fault), time.monotonic()
        if text != self._last or now - self._logged >= AGAIN:
            self._log.warning(self._event, fault=text)
            self._last, self._logged = text, now
