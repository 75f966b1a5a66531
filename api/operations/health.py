"""For operators and their machines: alive, ready, and how it goes. No key, no rate limit."""

from __future__ import annotations

import asyncio

from aiohttp import web
from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from api.context import SERVICE, Service
from api.operations.metrics import WATCHED, Figures, Gauges
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
    found = await request.app[WATCHED].figures()
    readiness = _readiness(found, request.app[SERVICE])
    return web.Response(
        status=200 if readiness.ready else 503,
        body=encode(readiness),
        content_type="application/json",
    )


async def metrics(request: web.Request) -> web.Response:
    """Prometheus' text format: the counts of all workers of this command, and the figures."""
    service = request.app[SERVICE]
    gauges = CollectorRegistry()
    gauges.register(Gauges(await request.app[WATCHED].figures()))
    counts = await _counts(service.settings.metrics_folder)
    return web.Response(
        body=counts + generate_latest(gauges),
        headers={"Content-Type": "text/plain; version=0.0.4"},
    )


async def _counts(folder: str | None) -> bytes:
    if folder is None:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    # It reads the files of every worker.
    return await asyncio.to_thread(generate_latest, registry)


def _readiness(found: Figures, service: Service) -> Readiness:
    if found.model is None or found.behind is None:
        return Readiness(ready=False, reason=f"a database does not answer: {found.fault}")
    reason = None
    if found.behind.seconds > service.settings.ready_lag:
        reason = "the read model is too far behind the log"
    if found.halted:
        reason = f"the projector has halted: {found.halted}"
    return Readiness(
        ready=reason is None,
        reason=reason,
        head=found.behind.head,
        checkpoint=found.model.position,
        lag={"events": found.behind.events, "seconds": round(found.behind.seconds, 3)},
    )
