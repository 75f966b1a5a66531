"""The body of a GraphQL request."""

from __future__ import annotations

import json

import msgspec
from msgspec import Raw, Struct

from api.errors import BadRequest

NOT_JSON = "Request body must be valid JSON"
EXPECTED = 'Send an object: {"query": "…", "variables": {…}, "operationName": "…"}'
_OBJECT = msgspec.json.Decoder(dict[str, Raw])


class Sent(Struct, frozen=True):
    """``variables`` as they came (``variables.py`` reads them)."""

    query: str
    variables: Raw | None
    operation: str | None


def read_body(body: bytes) -> Sent:
    """What was sent; other properties are ignored. Raises BadRequest."""
    try:
        body.decode()
        given = _OBJECT.decode(body)
    except msgspec.ValidationError:
        raise BadRequest(EXPECTED) from None
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        raise BadRequest(NOT_JSON) from None
    query, operation = _text(given.get("query")), _text(given.get("operationName"))
    if not query:
        raise BadRequest(EXPECTED)
    return Sent(query, given.get("variables"), operation or None)


def _text(value: Raw | None) -> str | None:
    """None where it is absent or null."""
    try:
        text = None if value is None else json.loads(bytes(value))
    except ValueError:
        raise BadRequest(NOT_JSON) from None
    if text is not None and not isinstance(text, str):
        raise BadRequest(EXPECTED)
    return text
