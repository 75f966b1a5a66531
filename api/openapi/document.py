"""The OpenAPI document of any workspace.

``document.json`` is written by hand. It names parameters, headers, refusals and schemas;
``...name`` stands for one of its groups, ``{"...": name}`` for one of its examples. The code adds
the schemas of its Structs and the responses of refusals.

It omits HEAD and preflights, for which generators would create client methods, and pages for
browsers. The headers that every response has are listed only for successes, because repeating them
for each refusal would make the document long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import Struct

from api.changes.bodies import CaughtUp, ChangesBody
from api.graphql.handler import GraphQLAnswer
from api.graphql.request import GraphQLRequest
from api.imports.endpoints import AcceptedImportBody, ImportStatusBody
from api.openapi.filters import built_in_parameters, filter_schemas, sort_parameter
from api.openapi.responses import (
    expand_groups,
    header_references,
    json_content,
    reference,
    refusal_response,
    source,
    status_of_refusals,
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
    wire.MediaListBody,
    wire.MediaBody,
    wire.LocalesBody,
    ChangesBody,
    CaughtUp,
    AcceptedImportBody,
    ImportStatusBody,
    Readiness,
    GraphQLRequest,
    GraphQLAnswer,
)
"""The types that the service encodes, whose schemas the document has."""


@cache
def document() -> dict[str, Any]:
    written: dict[str, Any] = changed(source(), _with_example)
    del written["groups"], written["examples"]
    about = resources.files("api.openapi").joinpath("about.md").read_text("utf-8")
    written["info"] |= {"version": version("contentlog"), "description": about}
    for operations in written["paths"].values():
        for method, operation in operations.items():
            operations[method] = _completed(operation)
    components = written["components"]
    components["parameters"] |= {"sort": sort_parameter(), **built_in_parameters()}
    components["schemas"] |= schemas() | filter_schemas()
    for name, response in components["responses"].items():
        components["responses"][name] = _shared(response)
    return written


def _with_example(part: dict[str, Any]) -> dict[str, Any]:
    """The example that the part stands for, or else the part."""
    examples: dict[str, dict[str, Any]] = source()["examples"]
    return examples[part["..."]] if "..." in part else part


def _completed(written: Operation) -> Operation:
    parameters = list(expand_groups(written["parameters"]))
    responses = {status: _response(response) for status, response in written["responses"].items()}
    if "ifNoneMatch" in parameters:
        responses["304"] = reference("responses", "NotModified")
    for name in expand_groups(written.pop("refusals")):
        refusals = source()["components"]["responses"][name]["refusals"]
        responses[str(status_of_refusals(refusals))] = reference("responses", name)
    if body := written.get("requestBody"):
        content = body.get("content") or json_content(**body)
        written["requestBody"] = {"required": True, "content": content}
    return {
        **written,
        "parameters": [reference("parameters", name) for name in parameters],
        "responses": dict(sorted(responses.items())),
    }


def _response(written: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": written["description"],
        "headers": _headers(written, "...always"),
        "content": written.get("content")
        or json_content(written["schema"], example=written["example"]),
    }


def _shared(written: dict[str, Any]) -> dict[str, Any]:
    """A response that operations refer to, with the headers that not every response has."""
    if "refusals" in written:
        return refusal_response(written["description"], written["refusals"])
    return {"description": written["description"], "headers": _headers(written)}


def _headers(written: dict[str, Any], *more: str) -> dict[str, Any]:
    known = source()["components"]["headers"]
    optional = {
        name: {**known[name], "required": False} for name in written.get("optionalHeaders", ())
    }
    return header_references(*more, *written.get("headers", ())) | optional


def schemas() -> dict[str, Any]:
    """The schemas of the bodies, by name."""
    _, found = msgspec.json.schema_components(_BODIES, ref_template="#/components/schemas/{name}")
    adapted: dict[str, Any] = changed(found, _adapted)
    return adapted


def _adapted(part: dict[str, Any]) -> dict[str, Any]:
    """Adapted to client generators: a reference has no separate type, an object without declared
    properties is open, and a default of null is omitted."""
    if "$ref" in part:
        part.pop("type", None)
    if part.get("type") == "object" and "properties" not in part:
        part.setdefault("additionalProperties", True)
    if part.get("default", ...) is None:
        del part["default"]
    return part


def changed(part: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A copy, with every object inside it changed."""
    if isinstance(part, list):
        return [changed(element, change) for element in part]
    if not isinstance(part, dict):
        return part
    return change({name: changed(inner, change) for name, inner in part.items()})
