"""The paths that ask for no key: for operators, and what documents the others."""

from __future__ import annotations

from typing import Any

from api.openapi import answers, examples
from api.openapi.paths import operation

_ID = ("requestId",)
_OK = {
    "type": "object",
    "properties": {"status": {"type": "string", "const": "ok"}},
    "required": ["status"],
}
_DOCUMENT = {"type": "object", "required": ["openapi", "info", "paths"]}
_METRICS = """\
# HELP contentlog_lag_events Events that are not projected yet
# TYPE contentlog_lag_events gauge
contentlog_lag_events 0.0
"""


def open_paths() -> dict[str, Any]:
    operations = {**_of_operators(), **_of_documentation()}
    return {path: {"get": {**described, "security": []}} for path, described in operations.items()}


def _of_operators() -> dict[str, Any]:
    fault = answers.of_operators()
    up = _content("application/json", _OK, {"status": "ok"})
    ready = {
        "200": answers.success("Ready", "Readiness", examples.READY),
        "503": answers.success("Not ready", "Readiness", examples.NOT_READY),
    }
    metrics = _content("text/plain", {"type": "string"}, _METRICS)
    return {
        "/healthz": operation(
            "isAlive",
            "Operations",
            "Is the process up?",
            _ID,
            {"200": answers.response("It is", up), **fault},
        ),
        "/readyz": operation(
            "isReady",
            "Operations",
            "Do both databases answer, and is the read model close to the log?",
            _ID,
            {**ready, **fault},
        ),
        "/metrics": operation(
            "getMetrics",
            "Operations",
            "Metrics in Prometheus' text format",
            _ID,
            {"200": answers.response("Metrics", metrics), **fault},
        ),
    }


def _of_documentation() -> dict[str, Any]:
    document = _content(
        "application/json", _DOCUMENT, {"openapi": "3.1.0", "info": {}, "paths": {}}
    )
    page = _content("text/html", {"type": "string"}, "<!doctype html>")
    files = {
        **_content("text/javascript", {"type": "string"}, "SwaggerUIBundle({})"),
        **_content("text/css", {"type": "string"}, ".swagger-ui {}"),
    }
    pages = answers.of_anybody()
    plain = "X-Content-Type-Options"
    policy = (plain, "Content-Security-Policy")
    return {
        "/v1/openapi.json": operation(
            "getDocument",
            "Documentation",
            "This document",
            (*_ID, "ifNoneMatch"),
            {
                "200": answers.response("The document", document, "ETag"),
                **answers.unchanged(),
                **pages,
            },
        ),
        "/docs": operation(
            "getPage",
            "Documentation",
            "This document as a page",
            _ID,
            {"200": answers.response("The page", page, *policy), **pages},
        ),
        "/docs/{file}": operation(
            "getFile",
            "Documentation",
            "A file of that page",
            ("file", *_ID),
            {
                "200": answers.response("The file", files, plain),
                **answers.not_found("The page has no such file"),
                **pages,
            },
        ),
    }


def _content(media_type: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {media_type: {"schema": schema, "example": example}}
