"""A collector for OTLP over HTTP that stores the spans it receives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.processes import http_server


class Received(Struct, frozen=True):
    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, str]


class Collector:
    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Received] = []
        self.size = 0

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def collecting(*, keep: bool = True) -> Iterator[Collector]:
    """Starts a collector. Without ``keep`` it only counts bytes, which is cheap."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.size += len(body)
            if keep:
                collector.spans.extend(_spans(body))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Logs nothing to standard error."""

    with http_server(Handler) as url:
        collector = Collector(url)
        yield collector


def _spans(body: bytes) -> Iterator[Received]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        about = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    about["service.name"],
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    {one.key: one.value.string_value for one in span.attributes},
                )
