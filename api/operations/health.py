"""``/healthz`` and ``/readyz``, for load balancers and supervisors. No key, no rate limit.

Positions, and the reason why the service is not ready, are only for operators: with a key that has
``service.view``, or on the listener for operators.

The state of the log and of the read model is read from both databases.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from api.auth.keys import secret_of
from api.context import SERVICE, Service
from api.rest.wire import encode
from read_side.replicas import ReplicaStatus
from read_side.status import ReadModelStatus, read_status
from write_side.domain.workspace import OPERATE
from write_side.store.recorder import Lag

PATIENCE = 3.0
"""Seconds that a database has to respond."""
READY_LAG = 30.0
"""Seconds that the read model may be behind the log while the service is ready."""
CURRENT_LAG = 1.0
"""Seconds that the read model may be behind the log while it counts as current: each write is
invisible for some milliseconds."""
KEPT = 0.25
"""Seconds for which a status is reused."""
T = TypeVar("T")


ReadModelState = Literal["unknown", "stopped", "halted", "current", "behind"]


class ServiceStatus(Struct, frozen=True):
    """A value that could not be read is None; ``fault`` then names the error."""

    head: int | None = None
    model: ReadModelStatus | None = None
    behind: Lag | None = None
    fault: str | None = None

    @property
    def halted(self) -> str | None:
        return self.model.halted if self.model else None

    @property
    def state(self) -> ReadModelState:
        """The state of the read model. "unknown": a database does not respond; "stopped": no
        projector has a heartbeat; "behind": a projector is processing events older than
        CURRENT_LAG."""
        if self.model is None or self.behind is None:
            return "unknown"
        if not self.model.projectors:
            return "stopped"
        if self.halted:
            return "halted"
        return "behind" if self.behind.seconds > CURRENT_LAG else "current"


class StatusCache:
    """Reads the status from the databases at most four times a second."""

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

    async def attempt(read: Callable[..., Awaitable[T]], *args: object) -> T | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await read(*args)
        except Exception as error:
            faults.append(type(error).__name__)
            return None

    recorder = service.repository.recorder
    head, model = await asyncio.gather(attempt(recorder.head), attempt(_model, service))
    if head is None or model is None:
        return ServiceStatus(head, model, fault=faults[0])
    behind = await attempt(recorder.lag, model.position)
    return ServiceStatus(behind.head if behind else head, model, behind, next(iter(faults), None))


async def _model(service: Service) -> ReadModelStatus:
    async with service.read_model.acquire() as connection:
        return await read_status(connection)


def routes() -> list[web.RouteDef]:
    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


class PublicReadiness(Struct, frozen=True):
    """The body of /readyz."""

    ready: bool


class Readiness(PublicReadiness, frozen=True, rename="camel"):
    """The body of /readyz for operators; ``reason`` if it is not ready. ``read_model``: the name of
    the one that this process reads. ``replicas``: the read replicas as this process sees them, each
    with its lag, null while it is left out; null if there are none."""

    read_model: str = ""
    reason: str | None = None
    head: int | None = None
    checkpoint: int | None = None
    lag: dict[str, float] | None = None
    replicas: list[ReplicaStatus] | None = None


async def healthz(_request: web.Request) -> web.Response:
    """200 while the process is running."""
    return web.Response(body=b'{"status":"ok"}', content_type="application/json")


async def readyz(request: web.Request) -> web.Response:
    """200 if both databases respond and the read model is close enough to the log, else 503.

    The key is looked up only in memory, and a key without ``service.view`` is not refused, because
    the response must not depend on a database.
    """
    readiness = await _current(request)
    caller = request.app[SERVICE].access.cached_caller(secret_of(request.headers))
    if caller is not None and OPERATE in caller.permissions:
        return readiness_response(readiness)
    return readiness_response(PublicReadiness(readiness.ready))


async def detailed_readyz(request: web.Request) -> web.Response:
    return readiness_response(await _current(request))


async def _current(request: web.Request) -> Readiness:
    service, status = request.app[SERVICE], await request.app[STATUS].current()
    replicas = service.replicas.status() or None
    return replace(_readiness(status), read_model=service.settings.read_model, replicas=replicas)


def readiness_response(body: PublicReadiness) -> web.Response:
    return web.Response(
        status=200 if body.ready else 503, body=encode(body), content_type="application/json"
    )


def _readiness(status: ServiceStatus) -> Readiness:
    if status.model is None or status.behind is None:
        return Readiness(ready=False, reason=f"a database does not respond: {status.fault}")
    reason = None
    if status.behind.seconds > READY_LAG:
        reason = "the read model is too far behind the log"
    if status.halted:
        reason = f"the projector has halted: {status.halted}"
    return Readiness(
        ready=reason is None,
        reason=reason,
        head=status.behind.head,
        checkpoint=status.model.position,
        lag={"events": status.behind.events, "seconds": round(status.behind.seconds, 3)},
    )
