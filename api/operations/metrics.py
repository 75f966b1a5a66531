"""``/metrics``: request counts, and the service's status as gauges.

It needs a key with ``service.view``, or the listener for operators.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import get_args

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from api.context import SERVICE, Call, Service
from api.http.request_counts import COUNTS
from api.operations.health import STATUS, ServiceStatus
from api.rest.request_checks import check_operator
from api.webhooks.status import WebhooksStatus, read_webhooks_status
from read_side.replicas import Outcome, ReplicaStatus
from read_side.status import ReadModelStatus, WorkStatus
from write_side.store.webhook_cursors import Cursors

PATIENCE = 3.0
"""Seconds that the databases have to respond."""
READS = Counter(
    "contentlog_replica_reads",
    "Reads that a replica may serve, by outcome: all but 'used' were read on the primary",
    ["outcome"],
)
_COUNTS = {outcome: READS.labels(outcome) for outcome in get_args(Outcome)}


def routes() -> list[web.RouteDef]:
    return [web.get("/metrics", metrics)]


def operator_routes() -> list[web.RouteDef]:
    """Routes that need no key."""
    return [web.get("/metrics", all_metrics)]


async def metrics(request: web.Request) -> web.Response:
    await check_operator(Call(request, request.app[SERVICE]))
    return await all_metrics(request)


async def all_metrics(request: web.Request) -> web.Response:
    """Prometheus' text format: the counts of all workers of this command, and the gauges. Those of
    other workers are up to a tenth of a second old."""
    gauges = CollectorRegistry()
    name = request.app[SERVICE].settings.read_model
    gauges.register(Gauges(await request.app[STATUS].current(), name))
    gauges.register(ReplicaFigures(request.app[SERVICE].replicas.status()))
    gauges.register(WebhookFigures(await webhook_status(request.app[SERVICE])))
    counts = await _counts(request.app[SERVICE].settings.metrics_folder)
    return web.Response(
        body=counts + generate_latest(gauges),
        headers={"Content-Type": "text/plain; version=0.0.4"},
    )


async def _counts(folder: str | None) -> bytes:
    COUNTS.flush()
    if folder is None:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    # In a thread, because it reads the files of every worker.
    return await asyncio.to_thread(generate_latest, registry)


class Gauges(Collector):
    """The status for Prometheus, without values that could not be read, because old values would
    look current. ``read_model``: its name."""

    def __init__(self, status: ServiceStatus, read_model: str) -> None:
        self._status = status
        self._read_model = read_model

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily(
            "contentlog_database_up", "1 if the database responds", labels=["database"]
        )
        up.add_metric(["event_store"], self._status.head is not None)
        up.add_metric(["read_model"], self._status.model is not None)
        yield up
        meaning = "1 for the read model that the figures are of"
        model = GaugeMetricFamily("contentlog_read_model", meaning, labels=["name"])
        model.add_metric([self._read_model], 1)
        yield model
        for name, meaning, value in self._values():
            if value is not None:
                yield GaugeMetricFamily(f"contentlog_{name}", meaning, value)
        if self._status.model:
            yield _projectors(self._status.model)
            yield from _work(self._status.model.work)

    def _values(self) -> Iterator[tuple[str, str, float | None]]:
        status = self._status
        yield "head_position", "Position of the last event of the log", status.head
        if status.model:
            halted = float(status.halted is not None)
            yield "checkpoint_position", "Last projected position", status.model.position
            yield "projector_halted", "1 if a projector has halted", halted
            beats = [one.heartbeat_age for one in status.model.projectors if one.role == "active"]
            meaning = "Seconds since the last heartbeat of the active projector"
            yield "projector_heartbeat_seconds", meaning, min(beats, default=None)
        if status.behind:
            oldest = status.behind.seconds
            yield "lag_events", "Events not projected yet", status.behind.events
            yield "lag_seconds", "Age of the oldest event not projected yet", oldest


def _projectors(model: ReadModelStatus) -> GaugeMetricFamily:
    """Zero if there is none, because a missing series would raise no alert."""
    meaning = "Projectors with a heartbeat in the last ten seconds"
    family = GaugeMetricFamily("contentlog_projectors", meaning, labels=["role"])
    for role in ("active", "standby"):
        family.add_metric([role], sum(one.role == role for one in model.projectors))
    return family


def _work(work: WorkStatus | None) -> Iterator[GaugeMetricFamily]:
    """A rebuild, rollback or verify in progress."""
    if work is None:
        return
    labels, values = ["work", "phase"], [work.name, work.phase]
    for name, meaning, value in (
        ("work_done", "Finished events or steps of this phase", work.done),
        ("work_total", "Events or steps of this phase", work.total),
        ("work_seconds", "Seconds since the start", work.seconds),
    ):
        family = GaugeMetricFamily(f"contentlog_{name}", meaning, labels=labels)
        family.add_metric(values, value)
        yield family


def count_replica_read(outcome: Outcome) -> None:
    _COUNTS[outcome].inc()


class ReplicaFigures(Collector):
    def __init__(self, replicas: Sequence[ReplicaStatus]) -> None:
        self._replicas = replicas

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if not self._replicas:
            return
        up = GaugeMetricFamily(
            "contentlog_replica_up", "1 if the read replica is in use", labels=["replica"]
        )
        lag = GaugeMetricFamily(
            "contentlog_replica_lag_events",
            "Events of the read model that the replica has not applied",
            labels=["replica"],
        )
        for one in self._replicas:
            up.add_metric([one.name], one.lag is not None)
            if one.lag is not None:
                lag.add_metric([one.name], one.lag)
        yield from (up, lag)


async def webhook_status(service: Service) -> WebhooksStatus | None:
    """None if a database does not respond; ``contentlog_database_up`` shows which."""
    try:
        async with asyncio.timeout(PATIENCE):
            cursors = Cursors(service.repository.recorder.fetch)
            return await read_webhooks_status(cursors, service.read_model)
    except Exception:
        return None


class WebhookFigures(Collector):
    def __init__(self, status: WebhooksStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        if self._status is None:
            return
        totals, endpoints = self._status.totals, self._status.endpoints
        for name, meaning, value in (
            ("deliveries", "Deliveries to webhooks, including failed ones", totals.deliveries),
            ("delivery_failures", "Deliveries to webhooks that failed", totals.failures),
        ):
            yield CounterMetricFamily(f"contentlog_webhook_{name}", meaning, value)
        yield GaugeMetricFamily(
            "contentlog_webhook_process_active",
            "Whether a process delivers to webhooks",
            float(totals.active),
        )
        yield GaugeMetricFamily(
            "contentlog_webhook_waiting_seconds",
            "Age of the oldest change that is to be delivered to an endpoint that is on",
            max((one.waiting for one in endpoints), default=0.0),
        )
        family = GaugeMetricFamily(
            "contentlog_webhooks", "Endpoints of webhooks by state", labels=["state"]
        )
        for state in ("on", "failing", "off"):
            family.add_metric([state], sum(one.state == state for one in endpoints))
        yield family
