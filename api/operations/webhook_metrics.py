"""The figures of webhooks in ``/metrics``: those of all processes, from the databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from api.context import Service
from api.webhooks.standing import WebhookStanding, webhook_standing
from write_side.store.webhooks import Cursors

PATIENCE = 3.0
"""Seconds that the databases have to respond."""


async def webhook_status(service: Service) -> WebhookStanding | None:
    """None if a database does not respond; ``contentlog_database_up`` shows which."""
    try:
        async with asyncio.timeout(PATIENCE):
            cursors = Cursors(service.repository.recorder.fetch)
            return await webhook_standing(cursors, service.read_model)
    except Exception:
        return None


class WebhookFigures(Collector):
    def __init__(self, standing: WebhookStanding | None) -> None:
        self._standing = standing

    def collect(self) -> Iterator[Metric]:
        if self._standing is None:
            return
        totals, endpoints = self._standing.totals, self._standing.endpoints
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
