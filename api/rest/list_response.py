"""The lists of entries: which statement reads a page, and its pagination."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web
from msgspec import Struct

from api.context import Call
from api.rest import parameters, wire
from api.rest.entries_response import (
    EntryReader,
    ReadPage,
    ShowEntry,
    entries_response,
    past_response,
)
from api.rest.list_query import ListQuery
from api.rest.point_in_time import ListBudget, PastList, list_at
from api.rest.shape import Shape, parse_shape
from read_side import notices
from read_side.entries import EntryRow
from read_side.paging import Matches, Page
from read_side.queries.pages import list_found
from read_side.queries.request import EntryQuery
from write_side.domain.events import STATUSES


class ListKind(Struct, frozen=True):
    """The form of a list. ``custom``: whether filters and sort keys may be fields of the type."""

    custom: bool
    entry_type: type[wire.Entry]
    entry: ShowEntry
    body: Callable[[list[Any], wire.ListPagination], wire.Wire]


async def list_response(
    call: Call,
    kind: ListKind,
    params: ListQuery,
    filters: Mapping[str, str | None],
    read: Callable[..., Awaitable[Page[EntryRow, int]]],
) -> web.Response:
    """``read`` reads a page of a plain list. It takes the filters as parameters.

    Raises BadRequest, TypeNotFound, InvalidQuery, IncompleteIndex, and what ``list_at`` raises.
    """
    scope, locale = call.scope, call.locale
    at = parameters.as_of(call.request.query)
    shape = parse_shape(call.request.query, kind.entry_type)
    wanted: dict[str, Any] = {"language": None, **filters, "custom": kind.custom}
    if at is not None:
        return await _past_list(call, kind, params, shape, params.entry_query(**wanted, as_of=at))
    type_slug, status = filters["type_slug"], filters["status"]
    dependencies = notices.lists(scope, type_slug, (status,) if status else STATUSES)
    query: EntryQuery | None = None
    if params.is_plain:
        page = {"locale": locale, "limit": params.limit, "offset": params.offset}
        key: tuple[object, ...] = ("plain", kind.custom, *filters.values(), params)
        read_page: ReadPage = partial(read, scope=scope, **filters, **page, as_json=shape.is_plain)
    else:
        query = _page_query(call, params, params.entry_query(**wanted, locale=locale))
        key = ("found", params.cursor, query)
        read_page = partial(list_found, scope=scope, query=query, locale=locale)
        of_type = notices.singles_of_type(scope, type_slug or "")
        dependencies = (*dependencies, of_type if kind.custom else notices.content_types(scope))

    def body(shown: list[Any], matches: Matches) -> wire.Wire:
        return kind.body(shown, _pagination(call, params, query, matches))

    reader = EntryReader(
        call=call,
        shape=shape,
        parameters=key,
        dependencies=dependencies,
        type_slug=type_slug,
        read_page=read_page,
        entry=kind.entry,
        body=body,
    )
    return await entries_response(reader)


async def _past_list(
    call: Call, kind: ListKind, params: ListQuery, shape: Shape, query: EntryQuery
) -> web.Response:
    """A list as it was at the time of the query."""
    at, budget = query.as_of, ListBudget()
    assert at is not None
    query = _page_query(call, params, query)
    past = await list_at(call.service, call.scope, query, budget, locale=call.locale)
    return await past_response(
        call,
        shape,
        past,
        at=at,
        budget=budget,
        entry=kind.entry,
        body=lambda shown: kind.body(shown, _pagination(call, params, query, past)),
    )


def _page_query(call: Call, params: ListQuery, query: EntryQuery) -> EntryQuery:
    """With the boundary of the cursor. Raises BadRequest."""
    return call.service.cursors.page_query(call.scope, call.locale, query, params.cursor)


def _pagination(
    call: Call, params: ListQuery, query: EntryQuery | None, page: Matches | PastList
) -> wire.ListPagination:
    """``page``: the total of a plain list, which has no query, or the page of a query."""
    total = page if isinstance(page, int) else page.total
    if params.cursor is None:
        shown = total if params.counted else None
        return wire.ListPagination(limit=params.limit, offset=params.offset, total=shown)
    assert query is not None
    assert not isinstance(page, int)
    following = call.service.cursors.token(call.scope, call.locale, query, page.next)
    return wire.ListPagination(limit=params.limit, total=total, next=following)
