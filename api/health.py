"""For operators and their machines: alive, ready, and how it goes. No key, no rate limit."""

from __future__ import annotations

import asyncio

from aiohttp import web
from msgspec import Struct
from prometheus_client import Gauge, generate_latest

from api.context import SERVICE, Service
from api.wire import encode
from read_side.status import ReadModelStatus, read_status
from write_side.store.lag import Lag, lag

PATIENCE = 3.0
HEAD = Gauge("contentlog_head_position", "Position of the last event of the log")
CHECKPOINT = Gauge("contentlog_checkpoint_position", "Last projected position")
LAG_EVENTS = Gauge("contentlog_lag_events", "Events that are not projected yet")
LAG_SECONDS = Gauge("contentlog_lag_seconds", "Age of the oldest event not projected yet")
HALTED = Gauge("contentlog_projector_halted", "1 where a projector has halted")


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
    readiness = await _readiness(request.app[SERVICE])
    return web.Response(
        status=200 if readiness.ready else 503,
        body=encode(readiness),
        content_type="application/json",
    )


async def metrics(request: web.Request) -> web.Response:
    """Prometheus' text format."""
    await _readiness(request.app[SERVICE])
    return web.Response(
        body=generate_latest(), headers={"Content-Type": "text/plain; version=0.0.4"}
    )


async def _readiness(service: Service) -> Readiness:
    try:
        async with asyncio.timeout(PATIENCE):
            model, behind = await _measure(service)
    except Exception as error:
        return Readiness(ready=False, reason=f"a database does not answer: {type(error).__name__}")
    halted = next((p.halted for p in model.projectors if p.halted), None)
    _publish(model, behind, halted)
    reason = None
    if behind.seconds > service.settings.ready_lag:
        reason = "the read model is too far behind the log"
    if halted:
        reason = f"the projector has halted: {halted}"
    return Readiness(
        ready=reason is None,
        reason=reason,
        head=behind.head,
        checkpoint=model.position,
        lag={"events": behind.events, "seconds": round(behind.seconds, 3)},
    )


async def _measure(service: Service) -> tuple[ReadModelStatus, Lag]:
    async with service.read_model.acquire() as connection:
        model = await read_status(connection)
    return model, await lag(service.repository.recorder, model.position)


def _publish(model: ReadModelStatus, behind: Lag, halted: str | None) -> None:
    HEAD.set(behind.head)
    CHECKPOINT.set(model.position)
    LAG_EVENTS.set(behind.events)
    LAG_SECONDS.set(behind.seconds)
    HALTED.set(1 if halted else 0)
