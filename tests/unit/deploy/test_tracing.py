"""OpenTelemetry's environment variables, and which requests are sampled."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from deploy.failures import Failed
from deploy.tracing import TraceSettings, trace_settings
from tests.spans import attribute, id_of, recording, trace_of
from write_side import tracing

OTLP = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
SENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        (OTLP, TraceSettings("otlp", 1.0)),
        ({"OTEL_TRACES_EXPORTER": "console"}, TraceSettings("console", 1.0)),
        ({**OTLP, "OTEL_TRACES_EXPORTER": "none"}, None),
        ({**OTLP, "OTEL_SDK_DISABLED": "true"}, None),
        ({**OTLP, "OTEL_TRACES_SAMPLER": "always_off"}, None),
        (
            {**OTLP, "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"},
            TraceSettings("otlp", 0.25),
        ),
        (
            {**OTLP, "OTEL_TRACES_SAMPLER": "parentbased_always_on"},
            TraceSettings("otlp", 1.0),
        ),
    ],
)
def test_the_environment_says_what_is_traced(
    environment: dict[str, str], expected: TraceSettings | None
) -> None:
    assert trace_settings(environment) == expected


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "takes one of otlp, console, none, not 'zipkin'"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "not 'sometimes'"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "takes http/protobuf, not 'grpc'"),
    ],
)
def test_unsupported_settings_are_refused_by_name(variable: str, value: str, reason: str) -> None:
    with pytest.raises(Failed) as refused:
        trace_settings({**OTLP, variable: value})
    assert variable in refused.value.message
    assert reason in refused.value.message


def test_a_ratio_that_is_no_number_is_refused() -> None:
    sampler = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}
    with pytest.raises(Failed, match="takes a number from 0 to 1, not '2'"):
        trace_settings({**OTLP, **sampler})


def test_traces_without_the_extra_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def missing(name: str, *rest: Any) -> Any:
        return None if name == "opentelemetry" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    assert trace_settings({}) is None
    with pytest.raises(Failed, match=r"OTEL_EXPORTER_OTLP_ENDPOINT asks for .*contentlog\[otel\]"):
        trace_settings(OTLP)


def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for() -> None:
    program = (
        "import sys, api.server, api.webhooks.process, projector.process\n"
        "import deploy.commands.servers\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_a_client_decides_nothing_about_sampling() -> None:
    with recording(ratio=0.0) as spans:
        for _ in range(20):
            with _received(SENT) as span:
                assert span is tracing.NO_SPAN
        assert spans.ended() == []
    unsampled = SENT[:-1] + "0"
    with recording() as spans, _received(unsampled):
        pass
    [request] = spans.ended()
    assert request.parent
    assert request.parent.span_id == 0x00F067AA0BA902B7


@pytest.mark.parametrize("sent", ["", "nonsense", "00-" + "0" * 32 + "-00f067aa0ba902b7-01"])
def test_an_invalid_parent_is_ignored(sent: str) -> None:
    with recording() as spans, _received(sent):
        pass
    assert spans.single("GET").parent is None


def test_a_cause_that_was_sampled_is_always_followed() -> None:
    with recording() as spans:
        with _received("") as request:
            cause = request.context
        [of_request] = spans.ended()
    with recording(ratio=0.0) as spans:
        with tracing.caused(cause, "deliver", "client"), tracing.caused(None, "other", "client"):
            pass
        with tracing.shared([None, cause], "project", "consumer"):
            pass
        assert [span.name for span in spans.ended()] == ["deliver", "project"]
        project = spans.single("project")
    assert trace_of(project) == trace_of(of_request)
    assert project.parent
    assert project.parent.span_id == id_of(of_request)


def test_an_exception_fails_a_span_without_its_text() -> None:
    with recording() as spans:
        with pytest.raises(ValueError, match="content"), _received(""):
            raise ValueError("content")
        span = spans.single("GET")
    assert attribute(span, "error.type") == "ValueError"
    assert not span.status.is_ok
    assert "content" not in span.to_json()


def test_without_a_tracer_there_are_no_spans() -> None:
    assert tracing.span("anything") is tracing.NO_SPAN
    assert tracing.context() is None


def _received(sent: str) -> tracing.Span:
    tracer = tracing.tracer()
    assert tracer is not None
    return tracer.received(sent, "GET", {})
