"""Spans of what a process does, and the trace context that passes on to other processes (ADR 56).

Until ``use`` is called, nothing is traced: a call here checks one variable. Only ``deploy`` imports
OpenTelemetry. A context is a W3C ``traceparent``; only spans that are recorded have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

Kind = Literal["internal", "server", "client", "consumer"]
Value: TypeAlias = str | int | float | bool
Attributes: TypeAlias = Mapping[str, Value]
"""Named by OpenTelemetry's semantic conventions; never content or secrets."""
NONE: Attributes = {}


class Span:
    """Current from ``__enter__`` to ``__exit__``, which ends it. An exception makes it fail. This
    class records nothing; ``deploy`` has a subclass that does."""

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    @property
    def context(self) -> str | None:
        """The span's trace context; None if it is not recorded."""
        return None

    def rename(self, name: str) -> None: ...

    def set(self, attribute: str, value: Value) -> None: ...

    def link(self, context: str | None) -> None: ...

    def fail(self, kind: str) -> None: ...


class Tracer(Protocol):
    def child(self, name: str, kind: Kind, attributes: Attributes) -> Span:
        """A child of the current span; NO_SPAN if that is not recorded."""
        ...

    def within(
        self, context: str, name: str, kind: Kind, attributes: Attributes, links: Sequence[str]
    ) -> Span:
        """A child of a span of ours."""
        ...

    def received(self, sent: str, name: str, attributes: Attributes) -> Span:
        """The first span of a request. ``sent``: the client's ``traceparent``, or empty. Only the
        settings decide whether it is recorded, because anyone can send one."""
        ...

    def caused(self, context: str | None, name: str, kind: Kind, attributes: Attributes) -> Span:
        """The first span of a trace, with a link to its cause. It is recorded if its cause is, or
        if the settings decide so."""
        ...

    def current(self) -> Span: ...


NO_SPAN = Span()
"""The span of work that is not recorded."""
_tracer: Tracer | None = None


def use(tracer: Tracer | None) -> None:
    """Traces this process from now on; None ends that."""
    global _tracer
    _tracer = tracer


def tracer() -> Tracer | None:
    return _tracer


def span(name: str, kind: Kind = "internal", attributes: Attributes = NONE) -> Span:
    """A child of the current span."""
    return NO_SPAN if _tracer is None else _tracer.child(name, kind, attributes)


def shared(
    contexts: Sequence[str | None], name: str, kind: Kind, attributes: Attributes = NONE
) -> Span:
    """Work for several spans at once: a child of the first that is recorded, with links to the
    others."""
    if _tracer is None:
        return NO_SPAN
    recorded = [context for context in contexts if context is not None]
    if not recorded:
        return NO_SPAN
    return _tracer.within(recorded[0], name, kind, attributes, recorded[1:])


def caused(context: str | None, name: str, kind: Kind, attributes: Attributes = NONE) -> Span:
    """A trace of its own, linked to its cause."""
    return NO_SPAN if _tracer is None else _tracer.caused(context, name, kind, attributes)


def current() -> Span:
    """NO_SPAN if it is not recorded."""
    return NO_SPAN if _tracer is None else _tracer.current()


def context() -> str | None:
    """The trace context of the current span; None if it is not recorded."""
    return None if _tracer is None else _tracer.current().context


def fields(context: str) -> dict[str, str]:
    """The fields of a log line that name the span."""
    _, trace_id, span_id, _ = context.split("-")
    return {"trace_id": trace_id, "span_id": span_id}
