"""The state that a process without an API reports to probes."""

from __future__ import annotations

import time
from typing import Literal

Role = Literal["starting", "standby", "active", "halted"]
SILENT = 10.0
"""Seconds after which a report is out of date: it is renewed each second while the databases
respond."""


class ProcessState:
    """``reason``: why it has halted."""

    def __init__(self) -> None:
        self.role: Role = "starting"
        self.reason: str | None = None
        self._reported_at = time.monotonic()

    def report(self, role: Role, reason: str | None = None) -> None:
        """To be called only after a database has confirmed the role."""
        self.role, self.reason = role, reason
        self._reported_at = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last report, or since the start."""
        return time.monotonic() - self._reported_at

    @property
    def fault(self) -> str | None:
        """Why it cannot do its work, or None. A standby does its work by waiting."""
        if self.role == "halted":
            return f"it has halted: {self.reason}"
        if self.role == "starting":
            return "it has not reached its databases yet"
        if self.age > SILENT:
            return f"a database does not respond, for {self.age:.0f} s"
        return None
