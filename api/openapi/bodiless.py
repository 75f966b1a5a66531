"""What has no body: HEAD of each GET, and the preflights of browsers."""

from __future__ import annotations

from typing import Any

from api.http.cors import crosses_origins
from api.openapi import answers
from api.openapi.headers import ALWAYS, CORS, PREFLIGHT, referred

TAG = "Without a body"


def completed(path: str, operations: dict[str, Any]) -> dict[str, Any]:
    """The path's operations with those that come by themselves, and with CORS where it applies."""
    whole = dict(operations)
    if "get" in operations:
        whole["head"] = _head(operations["get"])
    if crosses_origins(path):
        whole["options"] = _preflight(next(iter(operations.values())))
        for operation in whole.values():
            for response in operation["responses"].values():
                response["headers"] |= referred(*CORS)
    return whole


def _head(get: dict[str, Any]) -> dict[str, Any]:
    """The headers that GET has."""
    return {
        **get,
        "operationId": f"{get['operationId']}Head",
        "tags": [TAG],
        "summary": f"{get['summary']} (headers alone)",
        "responses": {
            status: {
                "description": response["description"],
                "headers": dict(response["headers"]),
            }
            for status, response in get["responses"].items()
        },
    }


def _preflight(asked: dict[str, Any]) -> dict[str, Any]:
    """Asked by browsers, without a key."""
    own = [
        parameter
        for parameter in asked["parameters"]
        if parameter["$ref"].rpartition("/")[2] in ("type", "slug", "typeSlug", "requestId")
    ]
    allowed = {
        "description": "What pages of any origin may ask for",
        "headers": referred(*ALWAYS, *PREFLIGHT),
    }
    return {
        "operationId": f"{asked['operationId']}Preflight",
        "tags": [TAG],
        "summary": f"{asked['summary']} (preflight)",
        "parameters": own,
        "security": [],
        "responses": {"204": allowed, **answers.refused("fault")},
    }
