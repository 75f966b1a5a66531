"""``/healthz`` and ``/readyz``, for load balancers and supervisors. No key, no rate limit."""

from __future__ import annotations

from aiohttp import web
from msgspec import Struct

from api.context import SERVICE
from api.operations.metrics import metrics
from api.operations.status import STATUS, ServiceStatus
from api.rest.wire import encode


def routes() -> list[web.RouteDef]:
    return [
        web.get("/healthz", healthz),
        web.get("/readyz", readyz),
        web.get("/metrics", metrics),
    ]


class Readiness(Struct, frozen=True):
    """The body of /readyz; ``reason`` where it is not ready."""

    ready: bool
    reason: str | None = None
    head: int | None = None
    checkpoint: int | None = None
    lag: dict[str, float] | None = None


async def healthz(_request: web.Request) -> web.Response:
    """The process is up."""
    return web.Response(body=b'{"status":"ok"}', content_type="application/json")


async def readyz(request: web.Request) -> web.Response:
    """200 where both databases answer and the read model is close enough to the log, else 503."""
    status = await request.app[STATUS].current()
    readiness = _readiness(status, request.app[SERVICE].settings.ready_lag)
    return web.Response(
        status=200 if readiness.ready else 503,
        body=encode(readiness),
        content_type="application/json",
    )


def _readiness(status: ServiceStatus, ready_lag: float) -> Readiness:
    if status.model is None or status.behind is None:
        return Readiness(ready=False, reason=f"a database does not answer: {status.fault}")
    reason = None
    if status.behind.seconds > ready_lag:
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
