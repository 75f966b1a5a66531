"""The body of a GraphQL request."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from api.errors import BadRequest
from write_side.domain.text import NotJSON, minified

EXPECTED = 'Send an object: {"query": "…", "variables": {…}, "operationName": "…"}'
LONGEST = 200_000
"""Characters of a document: they are read one by one, while nobody else is answered."""
_TEXT = msgspec.json.Decoder(str | None)
_OBJECT = msgspec.json.Decoder(dict[str, Raw])


class Sent(Struct, frozen=True):
    """``variables`` as they came (``variables.py`` reads them)."""

    query: str
    variables: Raw | None
    operation: str | None


def read_body(body: bytes) -> Sent:
    """What was sent; other properties are ignored.

    Raises BadRequest, NotJSON, and InvalidText where half of a surrogate pair keeps all of it from
    being read.
    """
    try:
        body.decode()
        given = _OBJECT.decode(body)
    except msgspec.ValidationError:
        raise BadRequest(EXPECTED) from None
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        minified(body)
        raise NotJSON(str(error)) from None
    query, operation = _text(given.get("query")), _text(given.get("operationName"))
    if not query:
        raise BadRequest(EXPECTED)
    if len(query) > LONGEST:
        raise BadRequest(
            f"The query has {len(query):,} characters; it may have up to {LONGEST:,}: "
            "large values belong in variables"
        )
    return Sent(query, given.get("variables"), operation or None)


def _text(value: Raw | None) -> str | None:
    """None where it is absent or null."""
    try:
        return None if value is None else _TEXT.decode(value)
    except msgspec.ValidationError:
        raise BadRequest(EXPECTED) from None
