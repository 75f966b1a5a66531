"""The OpenAPI document, and Swagger UI at ``/docs``. No key needed.

``document.json`` is written by hand. It names parameters, headers, refusals and schemas;
``...name`` stands for one of its groups. The code adds the schemas of its Structs, the responses of
refusals, HEAD and preflights.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any

import msgspec
from aiohttp import web
from msgspec import Struct

from api.graphql.handler import GraphQLAnswer
from api.graphql.request import GraphQLRequest
from api.http.cors import crosses_origins
from api.http.static_files import StaticFiles, limited_by_address
from api.openapi.responses import (
    expand_groups,
    header_references,
    json_content,
    refusal_responses,
    response_object,
    source,
)
from api.operations.health import Readiness
from api.rest import wire

Operation = dict[str, Any]


_BODIES: tuple[type[Struct], ...] = (
    wire.TypeListBody,
    wire.SingleBody,
    wire.ListBody,
    wire.CreatedBody,
    wire.ErrorBody,
    wire.ContentTypesBody,
    wire.ContentTypeBody,
    Readiness,
    GraphQLRequest,
    GraphQLAnswer,
)
_SWAGGER_UI = StaticFiles("docs")


def routes() -> list[web.RouteDef]:
    return [
        web.get("/v1/openapi.json", limited_by_address(openapi)),
        web.get("/docs", limited_by_address(_SWAGGER_UI.page)),
        web.get("/docs/{file:[^/]+}", limited_by_address(_SWAGGER_UI.file)),
    ]


async def openapi(_request: web.Request) -> web.Response:
    return web.Response(body=_encoded(), content_type="application/json")


@cache
def _encoded() -> bytes:
    return wire.encode(document())


def document() -> dict[str, Any]:
    written = deepcopy(source())
    del written["groups"], written["statuses"]
    about = resources.files("api.openapi").joinpath("about.md").read_text("utf-8")
    written["info"] |= {"version": version("contentlog"), "description": about}
    for path, operations in written["paths"].items():
        for method, operation in operations.items():
            operations[method] = _completed(operation)
        _add_bodiless(path, operations)
    components = written["components"]
    _, schemas = msgspec.json.schema_components(_BODIES, ref_template="#/components/schemas/{name}")
    components["schemas"] |= schemas
    for name, refusal in components["responses"].items():
        # Outside of all described operations: only some paths cross origins.
        [components["responses"][name]] = refusal_responses(refusal).values()
        components["responses"][name]["headers"] |= _optional("...cors")
    return written


def _completed(written: Operation) -> Operation:
    parameters = list(expand_groups(written["parameters"]))
    responses = {status: _response(response) for status, response in written["responses"].items()}
    if "ifNoneMatch" in parameters:
        responses["304"] = response_object("Unchanged since the ETag in If-None-Match", "ETag")
    responses |= refusal_responses(*expand_groups(written.pop("refusals")))
    if body := written.get("requestBody"):
        written["requestBody"] = {"required": True, "content": json_content(**body)}
    return {
        **written,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in parameters],
        "responses": dict(sorted(responses.items())),
    }


def _response(written: dict[str, Any]) -> dict[str, Any]:
    content = written.get("content") or json_content(written["schema"], example=written["example"])
    always = ("Content-Encoding", *written.get("headers", ()))
    response = response_object(written["description"], *always, content=content)
    response["headers"] |= _optional(*written.get("optionalHeaders", ()))
    return response


def _optional(*names: str) -> dict[str, Any]:
    """Headers that a response has only sometimes."""
    headers = source()["components"]["headers"]
    return {name: {**headers[name], "required": False} for name in expand_groups(names)}


def _add_bodiless(path: str, operations: dict[str, Operation]) -> None:
    """Adds HEAD to GET, and a preflight and CORS headers if the path crosses origins."""
    first = next(iter(operations.values()))
    if "get" in operations:
        operations["head"] = _head(operations["get"])
    if crosses_origins(path):
        operations["options"] = _preflight(first)
        for operation in operations.values():
            for response in operation["responses"].values():
                response["headers"] |= header_references("...cors")


def _head(get: Operation) -> Operation:
    return {
        **get,
        "operationId": f"{get['operationId']}Head",
        "tags": ["Without a body"],
        "summary": f"{get['summary']} (headers alone)",
        "responses": {
            status: {
                "description": response["description"],
                "headers": dict(response["headers"]),
            }
            for status, response in get["responses"].items()
        },
    }


def _preflight(operation: Operation) -> Operation:
    """Browsers send it, without a key."""
    parameters = [
        parameter
        for parameter in operation["parameters"]
        if parameter["$ref"].rpartition("/")[2] in ("type", "slug", "typeSlug", "requestId")
    ]
    allowed = response_object("The requests that pages of any origin may send", "...preflight")
    return {
        "operationId": f"{operation['operationId']}Preflight",
        "tags": ["Without a body"],
        "summary": f"{operation['summary']} (preflight)",
        "parameters": parameters,
        "security": [],
        "responses": {"204": allowed, **refusal_responses("fault")},
    }
