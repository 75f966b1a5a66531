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


def reason_of_fault(fault: Exception) -> str:
    """The fault in words, also that of a timeout, which has no text."""
    return str(fault) or ("no response" if isinstance(fault, TimeoutError) else repr(fault))


class FaultLog:
    """Logs the faults of repeated attempts as warnings with the text ``event``: each fault once a
    minute, not at each attempt."""

    def __init__(self, log: Any, event: str) -> None:
        self._log = log
        self._event = event
        self._logged: dict[str, float] = {}

    def add(self, fault: Exception | str) -> None:
        text, now = fault if isinstance(fault, str) else repr(fault), time.monotonic()
        self._logged = {old: at for old, at in self._logged.items() if now - at < AGAIN}
        if text not in self._logged:
            self._log.warning(self._event, fault=text)
            self._logged[text] = now
