"""The figures of webhooks in ``/metrics``: those of all processes, from the databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from msgspec import Struct
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from api.context import Service
from read_side.webhooks import WebhooksMark, webhooks_mark
from write_side.store.webhooks import Cursors, Totals

PATIENCE = 3.0
"""Seconds that the databases have to respond."""


class WebhookStatus(Struct, frozen=True):
    totals: Totals
    mark: WebhooksMark


async def webhook_status(service: Service) -> WebhookStatus | None:
    """None if a database does not respond; ``contentlog_database_up`` shows which."""
    try:
        async with asyncio.timeout(PATIENCE):
            totals = await Cursors(service.repository.recorder.fetch).totals()
            return WebhookStatus(totals, await webhooks_mark(service.read_model))
    except Exception:
        return None


class WebhookFigures(Collector):
    def __init__(self, status: WebhookStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        if self._status is None:
            return
        totals, mark = self._status.totals, self._status.mark
        for name, meaning, value in (
            ("deliveries", "Deliveries to webhooks, including failed ones", totals.deliveries),
            ("delivery_failures", "Deliveries to webhooks that failed", totals.failures),
        ):
            yield CounterMetricFamily(f"contentlog_webhook_{name}", meaning, value)
        family = GaugeMetricFamily(
            "contentlog_webhooks", "Endpoints of webhooks by state", labels=["state"]
        )
        # A failing endpoint that is switched off still has its failures.
        failing = max(0, totals.failing - mark.off)
        family.add_metric(["on"], max(0, mark.endpoints - mark.off - failing))
        family.add_metric(["failing"], failing)
        family.add_metric(["off"], mark.off)
        yield family
