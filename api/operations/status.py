"""The state of the log and of the read model, as both databases report it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

from aiohttp import web
from msgspec import Struct

from api.context import Service
from read_side.status import ReadModelStatus, read_status
from write_side.store.recorder import Lag

PATIENCE = 3.0
"""Seconds that a database has to answer."""
KEPT = 0.25
"""Seconds for which an answer serves everyone who asks, with or without a key."""
T = TypeVar("T")


class ServiceStatus(Struct, frozen=True):
    """None stands for what could not be read; ``fault`` then names the error."""

    head: int | None = None
    model: ReadModelStatus | None = None
    behind: Lag | None = None
    fault: str | None = None

    @property
    def halted(self) -> str | None:
        """Why a projector has halted, where one has."""
        projectors = self.model.projectors if self.model else ()
        return next((one.halted for one in projectors if one.halted), None)


class StatusCache:
    """Reads the status from the databases four times a second at most."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._reading = asyncio.Lock()
        self._read_at = float("-inf")
        self._latest = ServiceStatus()

    async def current(self) -> ServiceStatus:
        async with self._reading:
            if time.monotonic() - self._read_at > KEPT:
                self._latest = await service_status(self._service)
                self._read_at = time.monotonic()
            return self._latest


STATUS = web.AppKey("status", StatusCache)


async def service_status(service: Service) -> ServiceStatus:
    faults: list[str] = []

    async def attempt(reading: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await reading
        except Exception as error:
            faults.append(type(error).__name__)
            return None

    recorder = service.repository.recorder
    head, model = await asyncio.gather(attempt(recorder.head()), attempt(_model(service)))
    if head is None or model is None:
        return ServiceStatus(head, model, fault=faults[0])
    behind = await attempt(recorder.lag(model.position))
    return ServiceStatus(behind.head if behind else head, model, behind, next(iter(faults), None))


async def _model(service: Service) -> ReadModelStatus:
    async with service.read_model.acquire() as connection:
        return await read_status(connection)
