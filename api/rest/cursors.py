"""Cursors: the boundary of a page as an opaque token of one query.

A cursor holds the sort keys and the position of the entry that it stands on, so it remains good
when that entry is edited or deleted, and after a rebuild.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec.structs import replace

from api.errors import BadRequest
from api.rest.list_query import FIRST
from api.rest.tokens import Seal, keyed
from read_side.queries.request import Boundary, EntryQuery
from write_side.domain.identity import Scope

_encode = msgspec.msgpack.Encoder().encode
_BOUNDARY = msgspec.msgpack.Decoder(Boundary)


class Cursors:
    """``key``: the secret of all tokens."""

    def __init__(self, key: bytes) -> None:
        self._seal = Seal(keyed(key, b"cursors", 32))

    def token(
        self, scope: Scope, locale: str, query: EntryQuery, boundary: Boundary | None
    ) -> str | None:
        """The cursor of the page that begins there, if there is one."""
        if boundary is None:
            return None
        return self._seal.token(_context(scope, locale, query), _encode(boundary))

    def placed(
        self, scope: Scope, locale: str, query: EntryQuery, cursor: str | None
    ) -> EntryQuery:
        """The query of the cursor's page. Raises BadRequest."""
        if cursor is None or cursor == FIRST:
            return query
        plain = self._seal.opened(_context(scope, locale, query), cursor)
        if plain is None:
            raise BadRequest(
                "Unknown cursor: use first, or the pagination.next of the same list, with the same "
                "status, language, filters, sort keys, search, locale and asOf"
            )
        return replace(query, after=_BOUNDARY.decode(plain))


def _context(scope: Scope, locale: str, query: EntryQuery) -> bytes:
    """The context of the tokens of a query. All pages of any length share it."""
    any_page = replace(query, after=None, limit=0, offset=0, counted=True)
    return hashlib.sha256(msgspec.json.encode((scope, locale, any_page))).digest()
