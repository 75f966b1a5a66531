"""OpenTelemetry for the processes that serve (ADR 56): settings, sampling, export.

OpenTelemetry's own environment variables configure it. It is imported only if they ask for traces.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct

from deploy.failures import Failed
from write_side import tracing

EXPORTER = "OTEL_TRACES_EXPORTER"
SAMPLER = "OTEL_TRACES_SAMPLER"
RATIO = "OTEL_TRACES_SAMPLER_ARG"
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
DISABLED = "OTEL_SDK_DISABLED"
EXPORTERS = ("otlp", "console", "none")
SAMPLERS = ("always_on", "always_off", "traceidratio")
PARENT_BASED = "parentbased_"
HTTP = "http/protobuf"
FLUSHING = 1.0
"""Seconds for the last spans at the end: a collector that does not respond must not delay it."""


class TraceSettings(Struct, frozen=True):
    """``ratio``: of the requests that are traced."""

    exporter: Literal["otlp", "console"]
    ratio: float


def trace_settings(environment: Mapping[str, str]) -> TraceSettings | None:
    """None if traces are not turned on, or none are sampled.

    Raises Failed for an unsupported setting, and if the extra is not installed.
    """
    given = {name: value.strip() for name, value in environment.items() if value.strip()}
    exporter = given.get(EXPORTER, "otlp" if any(name in given for name in ENDPOINTS) else "none")
    if exporter not in EXPORTERS:
        raise Failed(f"{EXPORTER} takes one of {', '.join(EXPORTERS)}, not {exporter!r}")
    ratio = _ratio(given)
    if exporter == "none" or not ratio or given.get(DISABLED, "").lower() == "true":
        return None
    protocol = next((name for name in PROTOCOLS if given.get(name, HTTP) != HTTP), None)
    if protocol is not None:
        raise Failed(f"{protocol} takes {HTTP}, not {given[protocol]!r}")
    if importlib.util.find_spec("opentelemetry") is None:
        asked = EXPORTER if EXPORTER in given else next(name for name in ENDPOINTS if name in given)
        raise Failed(
            f"{asked} asks for traces, but OpenTelemetry is not installed: "
            f"run `pip install 'contentlog[otel]'`, or set {EXPORTER}=none"
        )
    return TraceSettings("console" if exporter == "console" else "otlp", ratio)


def _ratio(environment: Mapping[str, str]) -> float:
    """The part of the requests that the sampler selects. Our own spans always follow their parent,
    with or without ``parentbased_``."""
    sampler = environment.get(SAMPLER, "always_on").removeprefix(PARENT_BASED)
    if sampler not in SAMPLERS:
        names = ", ".join((*SAMPLERS, *(PARENT_BASED + name for name in SAMPLERS)))
        raise Failed(f"{SAMPLER} takes one of {names}, not {environment[SAMPLER]!r}")
    if sampler != "traceidratio":
        return float(sampler == "always_on")
    try:
        ratio = float(environment.get(RATIO, "1"))
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise Failed(f"{RATIO} takes a number from 0 to 1, not {environment[RATIO]!r}")
    return ratio


@contextmanager
def exported_traces(settings: TraceSettings | None, process: str) -> Iterator[None]:
    """Traces until the end, and then sends what is left. ``process``: the default of
    OTEL_SERVICE_NAME."""
    if settings is None:
        yield
        return
    from deploy.opentelemetry import OpenTelemetry, provider

    exporting = provider(settings.exporter, settings.ratio, process)
    tracing.use(OpenTelemetry(exporting))
    try:
        yield
    finally:
        tracing.use(None)
        ending = threading.Thread(target=exporting.shutdown, name="last traces", daemon=True)
        ending.start()
        ending.join(FLUSHING)
