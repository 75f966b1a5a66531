"""The parameters of a list: ``filter[FIELD][OP]``, ``sort``, ``cursor``, ``total``, ``limit`` and
``offset`` (api.md, "Filters and sorting")."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from multidict import MultiMapping

from api.errors import BadRequest
from api.rest import parameters
from api.rest.tokens import Seal, keyed_hash
from read_side.queries.request import (
    ANY_OF,
    LONGEST_VALUE,
    MOST_FILTERS,
    MOST_SORT_KEYS,
    MOST_VALUES,
    OPERATORS,
    UNKNOWN_CURSOR,
    Boundary,
    EntryQuery,
    Filter,
    SortKey,
)
from read_side.search import LONGEST as LONGEST_SEARCH
from write_side.domain.identity import Scope
from write_side.domain.refusals import shortened

FIRST = "first"
"""The cursor of the first page."""
NESTED = "Unknown field 'fields' in filter: name a field of the content type as fields.SLUG"
"""The error for a nested field, such as ``filter[fields][price]``, which some libraries write."""
_encode = msgspec.msgpack.Encoder().encode
_BOUNDARY = msgspec.msgpack.Decoder(Boundary)
_FILTER = re.compile(r"filter\[([^\[\]]+)\](?:\[([^\[\]]*)\])?")
_VALUE = re.compile(r'"((?:[^"]|"")*)"|([^",]*)')


class ListQuery(Struct, frozen=True):
    """``words``: what a search has to find. ``filters`` in their canonical order. ``cursor``: None
    to page by offset. ``counted``: whether the total is wanted."""

    limit: int
    offset: int
    words: str | None = None
    filters: tuple[Filter, ...] = ()
    sort: tuple[SortKey, ...] = ()
    cursor: str | None = None
    counted: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether it is a list of §4.1 or §4.3, except for the total."""
        return not (self.words or self.filters or self.sort) and self.cursor is None

    def entry_query(self, **members: Any) -> EntryQuery:
        """``members``: the others of the EntryQuery. Raises BadRequest for a search in the
        past."""
        if self.words and members.get("as_of"):
            raise BadRequest("A search finds what is there now: leave out the search, or asOf")
        return EntryQuery(
            words=self.words,
            filters=self.filters,
            sort=self.sort,
            limit=self.limit,
            offset=self.offset,
            counted=self.counted,
            **members,
        )


def list_query(query: MultiMapping[str], default_limit: int) -> ListQuery:
    """Raises BadRequest."""
    limit, offset = parameters.paging(query, default_limit)
    cursor = page_cursor(query.get("cursor"), query.get("offset"))
    words = search_text(query.get("q", ""))
    filters = checked_filters(_filters(query))
    sort = query.get("sort")
    keys = sort_keys(parameters.names(sort)) if sort else ()
    total = query.get("total")
    if total and total != "none":
        raise BadRequest(f"Unknown total '{shortened(total)}': use none, or leave it out")
    return ListQuery(limit, offset, words, filters, keys, cursor, counted=not total)


def page_cursor(cursor: str | None, offset: str | int | None) -> str | None:
    """None to page by offset. Raises BadRequest for both."""
    if cursor and offset:
        raise BadRequest("cursor and offset exclude each other: use one of them")
    return cursor or None


def search_text(value: str, parameter: str = "q") -> str | None:
    """None if there is nothing to search for. Raises BadRequest."""
    text = value.strip()
    if len(text) > LONGEST_SEARCH:
        raise BadRequest(
            f"{parameter} is too long: {len(text):,} characters; the limit is {LONGEST_SEARCH:,}"
        )
    return text or None


def _filters(query: MultiMapping[str]) -> Iterator[Filter]:
    for name, value in query.items():
        if name != "filter" and not name.startswith("filter["):
            continue
        if name.startswith("filter[fields]"):
            raise BadRequest(NESTED)
        match = _FILTER.fullmatch(name)
        if match is None:
            raise BadRequest(
                f"Malformed parameter '{shortened(name)}': use filter[FIELD] or filter[FIELD][OP]"
            )
        field, operator = match[1], match[2] if match[2] is not None else "eq"
        filter_ = Filter(field, operator, (value,))
        if operator in ANY_OF:
            # One value too many is enough for the refusal.
            filter_ = Filter(field, operator, tuple(islice(_separated(filter_), MOST_VALUES + 1)))
        yield filter_


def _separated(filter_: Filter) -> Iterator[str]:
    """Commas separate values. A value in quotes may have commas; a quote inside is doubled."""
    text, start = filter_.values[0], 0
    while True:
        match = _VALUE.match(text, start)
        assert match is not None, "the second alternative matches the empty text"
        start = match.end()
        if start < len(text) and text[start] != ",":
            raise BadRequest(
                f"Malformed value of {filter_.label}: separate values by commas, and write a value "
                'with a comma or a quote as "a,""b"'
            )
        yield match[2] if match[1] is None else match[1].replace('""', '"')
        if start >= len(text):
            return
        start += 1


def checked_filters(filters: Iterable[Filter]) -> tuple[Filter, ...]:
    """The filters in their canonical order. Raises BadRequest."""
    found: dict[tuple[str, str], Filter] = {}
    for filter_ in filters:
        if filter_.operator not in OPERATORS:
            raise BadRequest(
                f"Unknown operator '{shortened(filter_.operator)}' in "
                f"filter[{shortened(filter_.field)}]: use {', '.join(OPERATORS)}"
            )
        if (filter_.field, filter_.operator) in found:
            raise BadRequest(f"{filter_.label} is given twice: give it once")
        found[filter_.field, filter_.operator] = filter_
        if len(found) > MOST_FILTERS:
            raise BadRequest(f"Too many filters: at most {MOST_FILTERS}")
        _check_values(filter_)
    return tuple(sorted(found.values()))


def _check_values(filter_: Filter) -> None:
    label = filter_.label
    if len(filter_.values) > MOST_VALUES:
        raise BadRequest(f"{label} has too many values: at most {MOST_VALUES}")
    for value in filter_.values:
        if not value:
            raise BadRequest(f"{label} has an empty value: leave the filter out, or use exists")
        if len(value.encode("utf-8", "replace")) > LONGEST_VALUE:
            raise BadRequest(
                f"A value of {label} is too long: at most {LONGEST_VALUE:,} bytes of UTF-8"
            )


def sort_keys(names: Sequence[str]) -> tuple[SortKey, ...]:
    """From names of fields, with ``-`` for descending. Raises BadRequest."""
    if len(names) > MOST_SORT_KEYS:
        raise BadRequest(f"Too many keys in sort: at most {MOST_SORT_KEYS}")
    keys = tuple(SortKey(name.removeprefix("-"), name.startswith("-")) for name in names)
    if not all(key.field for key in keys):
        raise BadRequest("sort has an empty key: leave it out")
    if len({key.field for key in keys}) < len(keys):
        raise BadRequest("sort names a field twice: name each once")
    return keys


class PageCursors:
    """The boundary of a page as an opaque token of one query. ``key``: the secret of all tokens.

    A cursor holds the sort keys and the position of the entry after which the page begins, so it
    stays valid if that entry is edited or deleted, and after a rebuild.
    """

    def __init__(self, key: bytes) -> None:
        self._seal = Seal(keyed_hash(key, b"cursors", 32))

    def token(
        self, scope: Scope, locale: str, query: EntryQuery, boundary: Boundary | None
    ) -> str | None:
        """The cursor of the page that begins there, if there is one."""
        if boundary is None:
            return None
        return self._seal.token(_context(scope, locale, query), _encode(boundary))

    def page_query(
        self, scope: Scope, locale: str, query: EntryQuery, cursor: str | None
    ) -> EntryQuery:
        """The query of the cursor's page. Raises BadRequest."""
        if cursor is None or cursor == FIRST:
            return query
        plain = self._seal.open(_context(scope, locale, query), cursor)
        if plain is None:
            raise BadRequest(UNKNOWN_CURSOR)
        return replace(query, after=_BOUNDARY.decode(plain))


def _context(scope: Scope, locale: str, query: EntryQuery) -> bytes:
    """The context of the tokens of a query. All pages of any length share it."""
    any_page = replace(query, after=None, limit=0, offset=0, counted=True)
    return hashlib.sha256(msgspec.json.encode((scope, locale, any_page))).digest()
