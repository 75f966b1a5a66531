"""The listener for operators of a process that is not the API: ``/healthz``, ``/readyz`` and
``/metrics``, without a key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import get_args

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from api.http.listener import Listener
from api.operations.health import PublicReadiness, healthz, readiness_response
from write_side.process_state import ProcessState, Role

CLOSING = 1.0
"""Seconds that a probe in progress has at the end."""


class ProcessReadiness(PublicReadiness, frozen=True):
    """The body of /readyz; ``reason`` if it is not ready."""

    role: Role
    reason: str | None = None


def _measure(process: str, state: ProcessState, registry: CollectorRegistry) -> None:
    def has(role: Role) -> bool:
        return state.role == role

    meaning, labels = "1 for the role of the process", ["process", "role"]
    roles = Gauge("contentlog_process_role", meaning, labels, registry=registry)
    for each in get_args(Role):
        roles.labels(process, each).set_function(partial(has, each))
    meaning = "Seconds since the databases last confirmed its role"
    age = Gauge("contentlog_process_report_seconds", meaning, ["process"], registry=registry)
    age.labels(process).set_function(lambda: state.age)


@asynccontextmanager
async def process_listener(
    host: str, port: int, process: str, state: ProcessState, metrics: Iterable[Collector]
) -> AsyncIterator[None]:
    """Serves the endpoints. ``metrics``: additional ones of the process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    _measure(process, state, registry)
    for collector in metrics:
        registry.register(collector)

    async def readyz(_request: web.Request) -> web.Response:
        """503 if it has halted, or if a database does not respond."""
        return readiness_response(ProcessReadiness(state.fault is None, state.role, state.fault))

    async def all_metrics(_request: web.Request) -> web.Response:
        body = generate_latest(registry)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application()
    app.add_routes(
        [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", all_metrics)]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSING)
    await runner.setup()
    assert runner.server is not None
    listener = Listener(runner.server)
    try:
        await listener.listen(host, port)
        yield
    finally:
        await listener.close()
        await runner.cleanup()
