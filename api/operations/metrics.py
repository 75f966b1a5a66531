"""How the log and the read model stand at this moment, as far as the databases say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from typing import TypeVar

from aiohttp import web
from msgspec import Struct
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from api.context import Service
from read_side.status import ReadModelStatus, WorkStatus, read_status
from write_side.store.lag import Lag, lag

PATIENCE = 3.0
KEPT = 0.25
T = TypeVar("T")


class Figures(Struct, frozen=True):
    """None is what could not be read; ``fault`` names what went wrong then."""

    head: int | None = None
    model: ReadModelStatus | None = None
    behind: Lag | None = None
    fault: str | None = None

    @property
    def halted(self) -> str | None:
        """Why a projector has halted, where one has."""
        projectors = self.model.projectors if self.model else ()
        return next((one.halted for one in projectors if one.halted), None)


class Watched:
    """The figures for whoever asks, with or without a key: however many they are, the databases
    are asked four times a second at most."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._asking = asyncio.Lock()
        self._asked = float("-inf")
        self._latest = Figures()

    async def figures(self) -> Figures:
        async with self._asking:
            if time.monotonic() - self._asked > KEPT:
                self._latest = await _figures(self._service)
                self._asked = time.monotonic()
            return self._latest


WATCHED = web.AppKey("watched", Watched)


async def _figures(service: Service) -> Figures:
    """Asks both databases at once; each has ``PATIENCE`` seconds."""
    faults: list[str] = []

    async def tried(asked: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await asked
        except Exception as error:
            faults.append(type(error).__name__)
            return None

    recorder = service.repository.recorder
    head, model = await asyncio.gather(tried(recorder.head()), tried(_model(service)))
    if head is None or model is None:
        return Figures(head, model, fault=faults[0])
    behind = await tried(lag(recorder, model.position))
    return Figures(behind.head if behind else head, model, behind, next(iter(faults), None))


async def _model(service: Service) -> ReadModelStatus:
    async with service.read_model.acquire() as connection:
        return await read_status(connection)


class Gauges(Collector):
    """The figures for Prometheus. What could not be read is left out: a value that was true once
    would look like one that is."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily(
            "contentlog_database_up", "1 where the database answers", labels=["database"]
        )
        up.add_metric(["event_store"], self._figures.head is not None)
        up.add_metric(["read_model"], self._figures.model is not None)
        yield up
        for name, meaning, value in self._values():
            if value is not None:
                yield GaugeMetricFamily(f"contentlog_{name}", meaning, value)
        if self._figures.model:
            yield _projectors(self._figures.model)
            yield from _work(self._figures.model.work)

    def _values(self) -> Iterator[tuple[str, str, float | None]]:
        figures = self._figures
        yield "head_position", "Position of the last event of the log", figures.head
        if figures.model:
            halted = float(figures.halted is not None)
            yield "checkpoint_position", "Last projected position", figures.model.position
            yield "projector_halted", "1 where a projector has halted", halted
            beats = [one.heartbeat_age for one in figures.model.projectors if one.role == "active"]
            meaning = "Seconds since the active projector was heard of"
            yield "projector_heartbeat_seconds", meaning, min(beats, default=None)
        if figures.behind:
            oldest = figures.behind.seconds
            yield "lag_events", "Events that are not projected yet", figures.behind.events
            yield "lag_seconds", "Age of the oldest event not projected yet", oldest


def _projectors(model: ReadModelStatus) -> GaugeMetricFamily:
    """0 says that there is none, where a series that is missing would say nothing."""
    meaning = "Projectors that were heard of in the last ten seconds"
    family = GaugeMetricFamily("contentlog_projectors", meaning, labels=["role"])
    for role in ("active", "standby"):
        family.add_metric([role], sum(one.role == role for one in model.projectors))
    return family


def _work(work: WorkStatus | None) -> Iterator[GaugeMetricFamily]:
    """A rebuild, rollback or verify under way; nothing where there is none."""
    if work is None:
        return
    labels, values = ["work", "phase"], [work.name, work.phase]
    for name, meaning, value in (
        ("work_done", "Events or steps of this phase that are done", work.done),
        ("work_total", "Events or steps that this phase has", work.total),
        ("work_seconds", "Seconds since it began", work.seconds),
    ):
        family = GaugeMetricFamily(f"contentlog_{name}", meaning, labels=labels)
        family.add_metric(values, value)
        yield family
