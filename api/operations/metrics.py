"""``/metrics``: request counts, and the service's status as gauges.

It needs a key with ``service.view``, or the listener for operators.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from aiohttp import web
from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Counter as CounterMetric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from api.context import SERVICE, Service
from api.http.request_counts import COUNTS
from api.operations.health import PATIENCE, STATUS, ServiceStatus
from api.rest.request_checks import check_operator
from api.webhooks.operations import EndpointState, WebhooksStatus, read_webhooks_status
from read_side.replicas import Outcome, ReplicaStatus
from read_side.status import WorkStatus
from write_side.store.webhook_cursors import Cursors

READS = CounterMetric(
    "contentlog_replica_reads",
    "Reads that a replica may serve, by outcome: all but 'used' were read on the primary",
    ["outcome"],
)
_COUNTS = {outcome: READS.labels(outcome) for outcome in get_args(Outcome)}


def routes() -> list[web.RouteDef]:
    return [web.get("/metrics", metrics)]


async def metrics(request: web.Request) -> web.Response:
    await check_operator(request)
    return await all_metrics(request)


async def all_metrics(request: web.Request) -> web.Response:
    """Prometheus' text format: the counts of all workers of this command, and the gauges. Those of
    other workers are up to a tenth of a second old."""
    service, status = request.app[SERVICE], await request.app[STATUS].current()
    gauges = Figures(
        [
            *service_figures(status, service.settings.read_model),
            *replica_figures(service.replicas.status()),
            *webhook_figures(await webhook_status(service)),
        ]
    )
    counts = await _counts(service.settings.metrics_folder)
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


class Figures(Struct):
    """A prometheus_client collector of metrics that have already been read."""

    families: list[Metric]

    def collect(self) -> list[Metric]:
        return self.families


def service_figures(status: ServiceStatus, read_model: str) -> Iterator[Metric]:
    """The status without values that could not be read, because old values would look current.
    ``read_model``: its name."""
    up = {"event_store": status.head is not None, "read_model": status.model is not None}
    yield _by("database", "database_up", "1 if the database responds", up)
    meaning = "1 for the read model that the figures are of"
    yield _by("name", "read_model", meaning, {read_model: 1})
    for name, meaning, value in _values(status):
        if value is not None:
            yield GaugeMetricFamily(f"contentlog_{name}", meaning, value)
    if status.model:
        # Zero if there is none, because a missing series would raise no alert.
        roles = Counter(projector.role for projector in status.model.projectors)
        meaning = "Projectors with a heartbeat in the last ten seconds"
        yield _by("role", "projectors", meaning, {one: roles[one] for one in ("active", "standby")})
        yield from _work(status.model.work)


def _by(label: str, name: str, meaning: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """A gauge with a value for each value of a label."""
    family = GaugeMetricFamily(f"contentlog_{name}", meaning, labels=[label])
    for labelled, value in values.items():
        family.add_metric([labelled], value)
    return family


def _values(status: ServiceStatus) -> Iterator[tuple[str, str, float | None]]:
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


def replica_figures(replicas: Sequence[ReplicaStatus]) -> Iterator[Metric]:
    if replicas:
        up = {replica.name: replica.lag is not None for replica in replicas}
        yield _by("replica", "replica_up", "1 if the read replica is in use", up)
        lag = {replica.name: replica.lag for replica in replicas if replica.lag is not None}
        meaning = "Events of the read model that the replica has not applied"
        yield _by("replica", "replica_lag_events", meaning, lag)


async def webhook_status(service: Service) -> WebhooksStatus | None:
    """None if a database does not respond; ``contentlog_database_up`` shows which."""
    try:
        async with asyncio.timeout(PATIENCE):
            cursors = Cursors(service.repository.recorder.fetch)
            return await read_webhooks_status(cursors, service.read_model)
    except Exception:
        return None


def webhook_figures(status: WebhooksStatus | None) -> Iterator[Metric]:
    if status is None:
        return
    totals, endpoints = status.totals, status.endpoints
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
        max((endpoint.waiting for endpoint in endpoints), default=0.0),
    )
    states = Counter(endpoint.state for endpoint in endpoints)
    by_state = {state: states[state] for state in get_args(EndpointState)}
    yield _by("state", "webhooks", "Endpoints of webhooks by state", by_state)
