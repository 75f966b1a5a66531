"""The listener for operators of a process that is not the API: ``/healthz``, ``/readyz`` and
``/metrics``, without a key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from api.http.listener import Listener
from api.operations.health import PublicReadiness, healthz, readiness_response
from write_side.process_state import ProcessState, Role

CLOSING = 1.0
"""Seconds that a probe in progress has at the end."""
_ROLES: tuple[Role, ...] = ("starting", "standby", "active", "halted")
_STATE = web.AppKey("process_state", ProcessState)
_METRICS = web.AppKey("process_metrics", CollectorRegistry)


class ProcessReadiness(PublicReadiness, frozen=True):
    """The body of /readyz; ``reason`` if it is not ready."""

    role: Role
    reason: str | None = None


class _Figures(Collector):
    def __init__(self, process: str, state: ProcessState) -> None:
        self._process = process
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        labels = ["process", "role"]
        role = GaugeMetricFamily("contentlog_process_role", "1 for the role it has", labels=labels)
        for each in _ROLES:
            role.add_metric([self._process, each], each == self._state.role)
        yield role
        meaning = "Seconds since its databases have confirmed its role"
        age = GaugeMetricFamily("contentlog_process_report_seconds", meaning, labels=["process"])
        age.add_metric([self._process], self._state.age)
        yield age


async def _readyz(request: web.Request) -> web.Response:
    """503 if it has halted, or if a database does not respond."""
    state = request.app[_STATE]
    return readiness_response(ProcessReadiness(state.fault is None, state.role, state.fault))


async def _metrics(request: web.Request) -> web.Response:
    return web.Response(
        body=generate_latest(request.app[_METRICS]),
        headers={"Content-Type": "text/plain; version=0.0.4"},
    )


@asynccontextmanager
async def process_listener(
    host: str, port: int, process: str, state: ProcessState, metrics: Iterable[Collector] = ()
) -> AsyncIterator[None]:
    """Serves the endpoints. ``metrics``: additional ones of the process."""
    app = web.Application()
    app[_STATE] = state
    app[_METRICS] = registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    for collector in (_Figures(process, state), *metrics):
        registry.register(collector)
    app.add_routes(
        [web.get("/healthz", healthz), web.get("/readyz", _readyz), web.get("/metrics", _metrics)]
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
