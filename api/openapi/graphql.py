"""``POST /graphql``, as far as HTTP goes: its schema describes itself."""

from __future__ import annotations

from typing import Any

from api.openapi import answers
from api.openapi.headers import optional
from api.openapi.paths import EVERY, operation

_ASKED = {
    "query": "query ($limit: Int) { contentEntries(limit: $limit) { data { title slug } } }",
    "variables": {"limit": 1},
}
_ANSWERED = {"data": {"contentEntries": {"data": [{"title": "Hello", "slug": "hello"}]}}}


def graphql_path() -> dict[str, Any]:
    body = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/GraphQLRequest"},
                "example": _ASKED,
            }
        },
    }
    answered = answers.success("The answer", "GraphQLAnswer", _ANSWERED)
    for of_mutations in ("X-Content-Visible", "X-Content-Position"):
        answered["headers"] |= optional(of_mutations)
    asked = operation(
        "askGraphQL",
        "GraphQL",
        "Ask, create, update, publish, archive and delete",
        (
            "environment",
            "environmentHeader",
            *EVERY,
            "position",
            "idempotencyKey",
            "contentEncoding",
        ),
        {
            "200": answered,
            **answers.refused("key", "rateLimit"),
        },
        requestBody=body,
        description="Errors are inside the answer, with the status that REST would give in "
        "`extensions.status`. A refused mutation is `success: false` with its message. The schema "
        "is answered to introspection; a page to try it is at `GET /graphql`.",
    )
    return {"/graphql": {"post": asked}}
