"""The tracer of ``write_side/tracing.py`` on OpenTelemetry. Imported only to trace."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextvars import Token
from importlib.metadata import version
from types import TracebackType

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import TraceState
from opentelemetry.util.types import Attributes as OTelAttributes

from write_side.tracing import NO_SPAN, Attributes, Kind, Span, Value

_KINDS: dict[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}
_W3C = TraceContextTextMapPropagator()
_HEADER = "traceparent"


def provider(exporter: str, ratio: float, process: str) -> TracerProvider:
    """Exports in a thread of its own. OpenTelemetry's environment variables configure the
    exporter, the batches, the limits and the resource."""
    spans = ConsoleSpanExporter() if exporter == "console" else OTLPSpanExporter()
    resource = Resource.create()
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": process}))
    made = TracerProvider(
        sampler=RatioSampler(ratio),
        resource=Resource({"service.version": version("contentlog")}).merge(resource),
        shutdown_on_exit=False,
    )
    made.add_span_processor(BatchSpanProcessor(spans))
    return made


class RatioSampler(Sampler):
    """Follows our own spans. A client decides nothing: it could have every request recorded, or
    choose trace ids that a ratio of trace ids selects."""

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,  # noqa: ARG002 - the client may have chosen it
        name: str,  # noqa: ARG002
        kind: SpanKind | None = None,  # noqa: ARG002
        attributes: OTelAttributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,  # noqa: ARG002
    ) -> SamplingResult:
        parent = trace.get_current_span(parent_context).get_span_context()
        if parent.is_valid and not parent.is_remote:
            is_sampled = parent.trace_flags.sampled
        else:
            is_sampled = bool(links) or random.random() < self._ratio  # noqa: S311
        if is_sampled:
            return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)
        return SamplingResult(Decision.DROP)

    def get_description(self) -> str:
        return f"RatioSampler{{{self._ratio}}}"


class OpenTelemetry:
    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("contentlog", version("contentlog"))

    def child(self, name: str, kind: Kind, attributes: Attributes) -> Span:
        if not trace.get_current_span().is_recording():
            return NO_SPAN
        return _of(self._tracer.start_span(name, None, _KINDS[kind], attributes))

    def within(
        self, context: str, name: str, kind: Kind, attributes: Attributes, links: Sequence[str]
    ) -> Span:
        parent = trace.set_span_in_context(trace.NonRecordingSpan(_read(context)), Context())
        linked = [Link(_read(link)) for link in links]
        return _of(self._tracer.start_span(name, parent, _KINDS[kind], attributes, linked))

    def received(self, sent: str, name: str, attributes: Attributes) -> Span:
        parent = _W3C.extract({_HEADER: sent}, Context()) if sent else Context()
        return _of(self._tracer.start_span(name, parent, SpanKind.SERVER, attributes))

    def caused(self, context: str | None, name: str, kind: Kind, attributes: Attributes) -> Span:
        links = [] if context is None else [Link(_read(context))]
        return _of(self._tracer.start_span(name, Context(), _KINDS[kind], attributes, links))

    def current(self) -> Span:
        return _of(trace.get_current_span())


def _of(span: trace.Span) -> Span:
    return _Span(span) if span.is_recording() else NO_SPAN


class _Span(Span):
    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._token: Token[Context] | None = None

    def __enter__(self) -> Span:
        self._token = contexts.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Without the text of the exception, which may have content in it.
        if kind is not None:
            self.fail(kind.__name__)
        assert self._token is not None
        contexts.detach(self._token)
        self._span.end()

    @property
    def context(self) -> str:
        span = self._span.get_span_context()
        return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set(self, attribute: str, value: Value) -> None:
        self._span.set_attribute(attribute, value)

    def link(self, context: str | None) -> None:
        if context is not None:
            self._span.add_link(_read(context))

    def fail(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))


def _read(context: str) -> SpanContext:
    """One of ours, from ``Span.context``."""
    _, trace_id, span_id, flags = context.split("-")
    return SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(int(flags, 16))
    )
