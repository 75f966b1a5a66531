"""The spans of a batch, in the traces of the requests that its events came from (ADR 56)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from projector.projection import RecordedEvent
from write_side import tracing

MOST = 100
"""Traces of one batch that get a span."""


@contextmanager
def traced(batch: list[RecordedEvent]) -> Iterator[None]:
    """A span in each trace, since each request waits for the whole batch."""
    if tracing.tracer() is None:
        yield
        return
    with ExitStack() as spans:
        for recorded in _first_of_traces(batch):
            spans.enter_context(
                tracing.shared(
                    [recorded.event.traceparent],
                    "project",
                    "consumer",
                    {
                        "contentlog.request_id": recorded.event.request_id or "",
                        "contentlog.workspace": recorded.event.workspace,
                        "contentlog.position": recorded.position,
                        "contentlog.batch.events": len(batch),
                    },
                )
            )
        yield


def _first_of_traces(batch: list[RecordedEvent]) -> list[RecordedEvent]:
    """The first event of each request that is traced."""
    first: dict[str, RecordedEvent] = {}
    for recorded in batch:
        context = recorded.event.traceparent
        if context is not None and len(first) < MOST:
            first.setdefault(context, recorded)
    return list(first.values())
