"""Records this process's spans in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deploy.opentelemetry import OpenTelemetry, RatioSampler
from write_side import tracing


class Spans:
    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def ended(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.ended() if span.name == name]

    def single(self, name: str) -> ReadableSpan:
        [span] = self.named(name)
        return span

    def clear(self) -> None:
        self._exporter.clear()


@contextmanager
def recording(ratio: float = 1.0) -> Iterator[Spans]:
    """Traces this process and yields its spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=RatioSampler(ratio), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use(OpenTelemetry(provider))
    try:
        yield Spans(exporter)
    finally:
        tracing.use(None)
        provider.shutdown()


def trace_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id


def id_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def attribute(span: ReadableSpan, name: str) -> object:
    return (span.attributes or {}).get(name)


def linked(span: ReadableSpan) -> set[int]:
    """The ids of the spans this span links to."""
    return {link.context.span_id for link in span.links}
