"""Every path, written out (specification §4; interface.md, «HTTP besides the specification»)."""

from __future__ import annotations

from typing import Any

from api.openapi import answers, examples

PAGE = {"limit": 10, "offset": 0, "total": 1}
EVERY = ("requestId", "acceptEncoding")
_SCOPE = ("locale", "environment", "environmentHeader", *EVERY)
_READ = (*_SCOPE, "ifNoneMatch", "position")


def operation(
    name: str,
    tag: str,
    summary: str,
    parameters: tuple[str, ...],
    responses: dict[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """Parameters by the names under which ``parameters.py`` has them."""
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        "parameters": [{"$ref": f"#/components/parameters/{p}"} for p in parameters],
        "responses": dict(sorted(responses.items())),
        **more,
    }


def _list_of_type() -> dict[str, Any]:
    body = {"success": True, "data": [examples.LISTED], "pagination": PAGE}
    return operation(
        "listEntriesOfType",
        "Content",
        "List entries of a type, newest first",
        ("type", "limitOf10", "offset", "status", "language", *_READ),
        {
            "200": answers.success("A page", "TypeListBody", body, "ETag"),
            **answers.unchanged(),
            **answers.refused(*answers.READ, "unknownStatus", "contentType"),
        },
    )


def _single() -> dict[str, Any]:
    body = {"success": True, "data": examples.SINGLE}
    return operation(
        "getEntry",
        "Content",
        "Get one entry, whatever its status, as it is or as it was",
        ("type", "slug", "language", "asOf", *_READ),
        {
            "200": answers.success("The entry", "SingleBody", body, "ETag"),
            **answers.unchanged(),
            **answers.refused(*answers.READ, "malformedTime", "futureTime", "contentType", "entry"),
        },
    )


def _list_across_types() -> dict[str, Any]:
    body = {"data": [examples.OF_ANY_TYPE], "pagination": {**PAGE, "limit": 50}}
    return operation(
        "listEntries",
        "Content",
        "List entries across types, of every status, newest first",
        ("ofType", "limitOf50", "offset", *_READ),
        {
            "200": answers.success("A page", "ListBody", body, "ETag"),
            **answers.unchanged(),
            **answers.refused(*answers.READ, "contentType"),
        },
    )


def _create() -> dict[str, Any]:
    body = {"data": examples.CREATED, "message": "Content entry 'hello--world-' was created"}
    new = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/NewEntry"},
                "example": examples.NEW,
            }
        },
    }
    headers = ("X-Content-Visible", "X-Content-Position")
    return operation(
        "createEntry",
        "Content",
        "Create an entry, as a draft",
        (*_SCOPE, "idempotencyKey", "contentEncoding"),
        {
            "200": answers.success("The draft", "CreatedBody", body, *headers),
            **answers.refused(*answers.CREATE),
        },
        requestBody=new,
        description="Answers once the entry can be read; X-Content-Visible is false where that "
        "took too long.",
    )


def _types() -> dict[str, Any]:
    body = {"success": True, "data": [examples.CONTENT_TYPE]}
    return operation(
        "listContentTypes",
        "Content types",
        "List the environment's content types, by slug",
        _READ,
        {
            "200": answers.success("All", "ContentTypesBody", body, "ETag"),
            **answers.unchanged(),
            **answers.refused(*answers.READ),
        },
    )


def _type() -> dict[str, Any]:
    body = {"success": True, "data": examples.CONTENT_TYPE}
    return operation(
        "getContentType",
        "Content types",
        "Get one content type",
        ("typeSlug", *_READ),
        {
            "200": answers.success("The type", "ContentTypeBody", body, "ETag"),
            **answers.unchanged(),
            **answers.refused(*answers.READ, "contentType"),
        },
    )


def content_paths() -> dict[str, Any]:
    return {
        "/v1/content/{type}": {"get": _list_of_type()},
        "/v1/content/{type}/{slug}": {"get": _single()},
        "/v1/content": {"get": _list_across_types(), "post": _create()},
        "/v1/content-types": {"get": _types()},
        "/v1/content-types/{slug}": {"get": _type()},
    }
