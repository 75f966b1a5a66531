"""Every operation by its path (specification §4, and what the service offers besides)."""

from __future__ import annotations

from typing import Any

from api.openapi import examples, responses
from api.openapi.headers import optional
from api.openapi.responses import json_content, success

Operation = dict[str, Any]

_EVERY = ("requestId", "acceptEncoding")
_SCOPE = ("locale", "environment", "environmentHeader", *_EVERY)
_READ = (*_SCOPE, "ifNoneMatch", "position")
_WRITTEN = ("X-Content-Visible", "X-Content-Position")
_PAGE = {"limit": 10, "offset": 0, "total": 1}


def operations() -> dict[str, dict[str, Operation]]:
    return {
        "/v1/content/{type}": {"get": _list_of_type()},
        "/v1/content/{type}/{slug}": {"get": _single()},
        "/v1/content": {"get": _list_across_types(), "post": _create()},
        "/v1/content-types": {"get": _content_types()},
        "/v1/content-types/{slug}": {"get": _content_type()},
        "/graphql": {"post": _graphql()},
        **_without_a_key(_of_operators() | _of_documentation()),
    }


def _operation(
    name: str,
    tag: str,
    summary: str,
    parameters: tuple[str, ...],
    answers: dict[str, Any],
    **more: Any,
) -> Operation:
    """Parameters by their names in ``parameters.py``."""
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        "parameters": [{"$ref": f"#/components/parameters/{p}"} for p in parameters],
        "responses": dict(sorted(answers.items())),
        **more,
    }


def _read(
    name: str,
    tag: str,
    summary: str,
    parameters: tuple[str, ...],
    answer: dict[str, Any],
    *refusals: str,
) -> Operation:
    answers = {
        "200": answer,
        **responses.unchanged(),
        **responses.refused(*responses.READ, *refusals),
    }
    return _operation(name, tag, summary, (*parameters, *_READ), answers)


def _list_of_type() -> Operation:
    body = {"success": True, "data": [examples.LISTED], "pagination": _PAGE}
    return _read(
        "listEntriesOfType",
        "Content",
        "List entries of a type, newest first",
        ("type", "limitOf10", "offset", "status", "language"),
        success("A page", "TypeListBody", body, "ETag"),
        "unknownStatus",
        "contentType",
    )


def _single() -> Operation:
    return _read(
        "getEntry",
        "Content",
        "Get one entry of any status, now or at a past time",
        ("type", "slug", "language", "asOf"),
        success("The entry", "SingleBody", {"success": True, "data": examples.SINGLE}, "ETag"),
        "malformedTime",
        "futureTime",
        "contentType",
        "entry",
    )


def _list_across_types() -> Operation:
    body = {"data": [examples.OF_ANY_TYPE], "pagination": {**_PAGE, "limit": 50}}
    return _read(
        "listEntries",
        "Content",
        "List entries across types, of every status, newest first",
        ("ofType", "limitOf50", "offset"),
        success("A page", "ListBody", body, "ETag"),
        "contentType",
    )


def _create() -> Operation:
    body = {"data": examples.CREATED, "message": "Content entry 'hello--world-' was created"}
    return _operation(
        "createEntry",
        "Content",
        "Create an entry, as a draft",
        (*_SCOPE, "idempotencyKey", "contentEncoding"),
        {
            "200": success("The draft", "CreatedBody", body, *_WRITTEN),
            **responses.refused(*responses.CREATE),
        },
        requestBody=_body("NewEntry", examples.NEW),
        description="Responds once the entry can be read; X-Content-Visible is false if that took "
        "too long.",
    )


def _content_types() -> Operation:
    body = {"success": True, "data": [examples.CONTENT_TYPE]}
    return _read(
        "listContentTypes",
        "Content types",
        "List the environment's content types, by slug",
        (),
        success("All content types", "ContentTypesBody", body, "ETag"),
    )


def _content_type() -> Operation:
    body = {"success": True, "data": examples.CONTENT_TYPE}
    return _read(
        "getContentType",
        "Content types",
        "Get one content type",
        ("typeSlug",),
        success("The content type", "ContentTypeBody", body, "ETag"),
        "contentType",
    )


def _graphql() -> Operation:
    """As far as HTTP goes: its schema describes itself."""
    answer = success("The result", "GraphQLAnswer", examples.GRAPHQL_ANSWER)
    for header in _WRITTEN:
        answer["headers"] |= optional(header)
    return _operation(
        "askGraphQL",
        "GraphQL",
        "Query, create, update, publish, archive and delete",
        (
            "environment",
            "environmentHeader",
            *_EVERY,
            "position",
            "idempotencyKey",
            "contentEncoding",
        ),
        {"200": answer, **responses.refused("key", "rateLimit")},
        requestBody=_body("GraphQLRequest", examples.GRAPHQL_REQUEST),
        description="Errors are in the result, with the status that REST would return in "
        "`extensions.status`. A refused mutation has `success: false` and a message. "
        "Introspection is open; GraphiQL is at `GET /graphql`.",
    )


def _of_operators() -> dict[str, Operation]:
    ok = {
        "type": "object",
        "properties": {"status": {"type": "string", "const": "ok"}},
        "required": ["status"],
        "additionalProperties": False,
    }
    alive = responses.response(
        "The process is up", _content("application/json", ok, {"status": "ok"})
    )
    metrics = _text("text/plain", examples.METRICS)
    answers = {
        "/healthz": ("isAlive", "Is the process up?", {"200": alive}),
        "/readyz": (
            "isReady",
            "Do both databases answer, and is the read model close to the log?",
            {
                "200": success("Ready", "Readiness", examples.READY),
                "503": success("Not ready", "Readiness", examples.NOT_READY),
            },
        ),
        "/metrics": (
            "getMetrics",
            "Metrics in Prometheus' text format",
            {"200": responses.response("Metrics", metrics)},
        ),
    }
    return {
        path: _operation(
            name, "Operations", summary, _EVERY, {**answer, **responses.refused("fault")}
        )
        for path, (name, summary, answer) in answers.items()
    }


def _of_documentation() -> dict[str, Operation]:
    document = _content(
        "application/json",
        {"type": "object", "required": ["openapi", "info", "paths"]},
        {"openapi": "3.1.0", "info": {}, "paths": {}},
    )
    page = _text("text/html", "<!doctype html>")
    files = _text("text/javascript", "SwaggerUIBundle({})") | _text("text/css", ".swagger-ui {}")
    plain, policy = "X-Content-Type-Options", "Content-Security-Policy"
    refusals = responses.refused(*responses.ANYBODY)
    return {
        "/v1/openapi.json": _operation(
            "getDocument",
            "Documentation",
            "This document",
            (*_EVERY, "ifNoneMatch"),
            {
                "200": responses.response("The document", document, "ETag"),
                **responses.unchanged(),
                **refusals,
            },
        ),
        "/docs": _operation(
            "getPage",
            "Documentation",
            "This document as a page",
            _EVERY,
            {"200": responses.response("The page", page, plain, policy), **refusals},
        ),
        "/docs/{file}": _operation(
            "getFile",
            "Documentation",
            "A file of that page",
            ("file", *_EVERY),
            {
                "200": responses.response("The file", files, plain),
                **responses.refused("nothing"),
                **refusals,
            },
        ),
    }


def _without_a_key(described: dict[str, Operation]) -> dict[str, dict[str, Operation]]:
    return {path: {"get": {**operation, "security": []}} for path, operation in described.items()}


def _body(schema: str, example: Any) -> dict[str, Any]:
    return {"required": True, "content": json_content(schema, example=example)}


def _text(media_type: str, example: str) -> dict[str, Any]:
    return _content(media_type, {"type": "string"}, example)


def _content(media_type: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {media_type: {"schema": schema, "example": example}}
