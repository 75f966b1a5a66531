"""The paths that ask for no key: for operators, and what documents the others."""

from __future__ import annotations

from typing import Any

from api.openapi import answers, examples
from api.openapi.paths import EVERY, operation

_OK = {
    "type": "object",
    "properties": {"status": {"type": "string", "const": "ok"}},
    "required": ["status"],
    "additionalProperties": False,
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
    fault = answers.refused("fault")
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
            EVERY,
            {"200": answers.response("It is", up), **fault},
        ),
        "/readyz": operation(
            "isReady",
            "Operations",
            "Do both databases answer, and is the read model close to the log?",
            EVERY,
            {**ready, **fault},
        ),
        "/metrics": operation(
            "getMetrics",
            "Operations",
            "Metrics in Prometheus' text format",
            EVERY,
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
    pages = answers.refused(*answers.ANYBODY)
    plain = "X-Content-Type-Options"
    policy = (plain, "Content-Security-Policy")
    return {
        "/v1/openapi.json": operation(
            "getDocument",
            "Documentation",
            "This document",
            (*EVERY, "ifNoneMatch"),
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
            EVERY,
            {"200": answers.response("The page", page, *policy), **pages},
        ),
        "/docs/{file}": operation(
            "getFile",
            "Documentation",
            "A file of that page",
            ("file", *EVERY),
            {
                "200": answers.response("The file", files, plain),
                **answers.refused("nothing"),
                **pages,
            },
        ),
    }


def _content(media_type: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {media_type: {"schema": schema, "example": example}}
