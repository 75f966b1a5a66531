"""The bytes that requests or responses of a process hold; one workspace may hold half."""

from __future__ import annotations

import asyncio
from collections import Counter

from api.errors import Busy

PATIENCE = 20.0
"""Seconds to wait for bytes to come back."""


class ByteBudget:
    """One workspace can use at most half, so the other half is left to others."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._taken: Counter[str] = Counter()
        self._returned = asyncio.Condition()

    @property
    def taken(self) -> int:
        return self._taken.total()

    def has(self, workspace: str, number: int) -> bool:
        """Whether enough are left."""
        fits = self._taken[workspace] + number <= self._total // 2
        return fits and self.taken + number <= self._total

    def take(self, workspace: str, number: int) -> bool:
        """False if not enough are left."""
        if not self.has(workspace, number):
            return False
        self._taken[workspace] += number
        return True

    async def wait_and_take(self, workspace: str, number: int) -> None:
        """Raises Busy if not enough become free in time."""
        try:
            async with asyncio.timeout(PATIENCE), self._returned:
                await self._returned.wait_for(lambda: self.take(workspace, number))
        except TimeoutError:
            raise Busy("Too many large requests and responses are in progress") from None

    async def give_back(self, workspace: str, number: int) -> None:
        self._taken[workspace] -= number
        if not self._taken[workspace]:
            del self._taken[workspace]
        async with self._returned:
            self._returned.notify_all()
