"""The queries, and the filters of ``contentEntries``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
import strawberry
from graphql import FieldNode
from msgspec import Raw, Struct

from api.errors import BadRequest
from api.graphql.content_entry import ContentEntry, entry_of_past, entry_of_row
from api.graphql.context import GraphQLContext, Info
from api.graphql.cost import DEFAULT_LIMITS, charged_list
from api.graphql.document_limits import fields_below
from api.graphql.types import (
    JSON,
    ContentType,
    EntryStatus,
    Media,
    Pagination,
    typed_field,
)
from api.rest.list_query import (
    NESTED,
    ListQuery,
    checked_filters,
    page_cursor,
    search_text,
    sort_keys,
)
from api.rest.parameters import clamped_limit, clamped_offset, searchable
from api.rest.point_in_time import PastList, PastSlugKey, list_at
from api.rest.request_body import json_object
from read_side import content_types, paging
from read_side.entries import EntryRow, id_of_slug
from read_side.lookups import MediaFile
from read_side.queries.pages import FoundPage, list_ids_found
from read_side.queries.request import ANY_OF, MOST_VALUES, OPERATORS, EntryQuery, Filter
from read_side.refusals import EntryNotFound, TypeNotFound
from write_side.domain.content_type import ContentTypeDefinition
from write_side.domain.identity import BASE_LANGUAGE, Scope, is_id
from write_side.domain.locales import check_locale
from write_side.domain.refusals import shortened
from write_side.waiting import in_slices

DEFAULT_LIMIT = DEFAULT_LIMITS["contentEntries"]
_ARRAY = msgspec.json.Decoder(list[Raw])
_KINDS = {b'"': "string", b"t": "boolean", b"f": "boolean"}
_SHAPE = 'filter takes an object such as {"fields.price": {"gte": 10}} or {"status": "draft"}'


async def _data(page: strawberry.Parent[ContentEntryPage]) -> strawberry.Streamable[ContentEntry]:
    return in_slices(page.entries)


@strawberry.type(description="A page of the matching entries, newest first.")
class ContentEntryPage:
    entries: strawberry.Private[list[ContentEntry]]
    data: strawberry.Streamable[ContentEntry] = strawberry.field(resolver=_data)
    pagination: Pagination


@strawberry.type(
    description="Queries need the permission `content.view`. "
    "With `content.published` they read only published entries."
)
class Query:
    @typed_field(
        "The entry with a slug, in any status, as it is now or as it was at `asOf`; "
        "null if there is none."
    )
    async def content_entry(
        self,
        info: Info,
        type: str,  # noqa: A002 - the schema's name
        slug: str,
        language: str | None = BASE_LANGUAGE,
        locale: str | None = strawberry.UNSET,
        as_of: datetime | None = strawberry.UNSET,
    ) -> ContentEntry | None:
        context, scope = info.context, await info.context.readable()
        text_locale = check_locale(locale or BASE_LANGUAGE)
        named = {
            "type_slug": searchable(type),
            "slug": searchable(slug),
            "language": searchable(language or BASE_LANGUAGE),
        }
        if as_of:
            past = await context.past.load(PastSlugKey(**named, locale=text_locale, at=as_of))
            return None if past is None else entry_of_past(past, text_locale, as_of)
        try:
            entry_id = await id_of_slug(context.service.read_model, scope, **named)
        except EntryNotFound:
            return None
        row = await context.entries.load((entry_id, text_locale))
        # The slug may have changed between the two statements.
        if row is None or not _matches(row, **named):
            return None
        return entry_of_row(row, text_locale)

    @typed_field("The entry with an id, in any status; null if there is none.")
    async def content_entry_by_id(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002
        locale: str | None = strawberry.UNSET,
    ) -> ContentEntry | None:
        await info.context.readable()
        text_locale = check_locale(locale or BASE_LANGUAGE)
        row = await info.context.entries.load((id, text_locale)) if is_id(id) else None
        return None if row is None else entry_of_row(row, text_locale)

    @typed_field(
        "Entries, newest first unless `sort` is given (`-` for descending), as they are now or as "
        "they were at `asOf`. Without a type, status or language, those of any that the key may "
        "read. "
        "`search` finds words in titles and searchable fields, the most relevant entries first. "
        '`filter` has operators by field: `{"fields.price": {"gte": 10}}`. '
        "`cursor` is `first` or a `pagination.next`, instead of `offset`. "
        "`limit` is clamped to 1 to 100."
    )
    async def content_entries(
        self,
        info: Info,
        type: str | None = strawberry.UNSET,  # noqa: A002
        status: EntryStatus | None = strawberry.UNSET,
        language: str | None = strawberry.UNSET,
        locale: str | None = strawberry.UNSET,
        limit: int | None = DEFAULT_LIMIT,
        offset: int | None = 0,
        filter: JSON | None = strawberry.UNSET,  # noqa: A002
        sort: list[str] | None = strawberry.UNSET,
        search: str | None = strawberry.UNSET,
        cursor: str | None = strawberry.UNSET,
        as_of: datetime | None = strawberry.UNSET,
    ) -> ContentEntryPage:
        context = info.context
        scope = await context.readable(status.value if status else None)
        if not status and context.call.published_only:
            status = EntryStatus.published
        text_locale = check_locale(locale or BASE_LANGUAGE)
        params = ListQuery(
            clamped_limit(limit, DEFAULT_LIMIT),
            clamped_offset(offset),
            search_text(search or "", "search"),
            checked_filters(_parsed_filters(filter) if filter else ()),
            sort_keys(sort) if sort else (),
            page_cursor(cursor, offset),
            _selects_total(info),
        )
        context.budget.charge_checks(params)
        filters = {
            "type_slug": searchable(type) if type else None,
            "status": status.value if status else None,
            "language": searchable(language) if language else None,
        }
        entries = _EntryList(context, scope, params, filters, text_locale)
        return await (entries.past_page(as_of) if as_of else entries.page())

    @typed_field(
        "The content types of the environment, by slug.",
        graphql_type=strawberry.Streamable[ContentType],
    )
    async def content_types(self, info: Info) -> AsyncIterator[ContentTypeDefinition]:
        scope = await info.context.readable()
        rows = await content_types.content_types(info.context.service.read_model, scope)
        return in_slices(charged_list(info, rows))

    @typed_field(
        "The content type with a slug; null if there is none.", graphql_type=ContentType | None
    )
    async def content_type(self, info: Info, slug: str) -> ContentTypeDefinition | None:
        scope = await info.context.readable()
        pool = info.context.service.read_model
        try:
            return await content_types.content_type(pool, scope, searchable(slug))
        except TypeNotFound:
            return None

    @typed_field(
        "The file of the media library with an id; null if there is none.",
        graphql_type=Media | None,
    )
    async def media(self, info: Info, id: strawberry.ID) -> MediaFile | None:  # noqa: A002
        await info.context.readable()
        return await info.context.media.load(searchable(id))


class _EntryList(Struct, frozen=True):
    """A list, current or past. ``filters``: None for any value. ``locale``: of the texts."""

    context: GraphQLContext
    scope: Scope
    params: ListQuery
    filters: dict[str, str | None]
    locale: str

    async def page(self) -> ContentEntryPage:
        ids, pagination = await self._ids()
        rows = await self.context.entries.load_many([(entry_id, self.locale) for entry_id in ids])
        # An entry may have changed between the two statements.
        unchanged = [row for row in rows if row and _matches(row, **self.filters)]
        entries = [entry_of_row(row, self.locale) for row in unchanged]
        return ContentEntryPage(entries=entries, pagination=pagination)

    async def _ids(self) -> tuple[list[str], Pagination]:
        """Raises TypeNotFound, InvalidQuery, IncompleteIndex, BadRequest."""
        pool, params, filters = self.context.service.read_model, self.params, self.filters
        if params.is_plain:
            page = await paging.list_ids(
                pool,
                self.scope,
                paging.Filters(filters["type_slug"], filters["status"], filters["language"]),
                limit=params.limit,
                offset=params.offset,
            )
            total = page.matches
            return page.rows, Pagination(limit=params.limit, offset=params.offset, total=total)
        of_any_type = filters["type_slug"] is None
        query = self._query(locale=self.locale, custom=not of_any_type)
        found, ids = await list_ids_found(pool, self.scope, query)
        if params.counted and found.total is None:
            raise BadRequest(
                "The filters or the search match too many entries to count: leave pagination.total "
                "out, or narrow them"
            )
        return ids, self._pagination(query, found)

    async def past_page(self, at: datetime) -> ContentEntryPage:
        """The page as of a time. Raises what ``list_at`` raises."""
        service, budget = self.context.service, self.context.budget
        query = self._query(custom=False, as_of=at)
        past = await list_at(service, self.scope, query, budget, locale=self.locale)
        if self.params.counted and past.total is None:
            raise BadRequest(
                "The list has too many entries to count as of this time: leave pagination.total "
                "out, or select fewer entries by type, status or language"
            )
        return ContentEntryPage(
            entries=[entry_of_past(entry, self.locale, at) for entry in past.entries],
            pagination=self._pagination(query, past),
        )

    def _query(self, **members: Any) -> EntryQuery:
        query = self.params.entry_query(**self.filters, **members)
        cursors = self.context.service.cursors
        return cursors.page_query(self.scope, self.locale, query, self.params.cursor)

    def _pagination(self, query: EntryQuery, page: FoundPage | PastList) -> Pagination:
        cursors, params = self.context.service.cursors, self.params
        following = None if params.cursor is None else page.next
        return Pagination(
            limit=params.limit,
            offset=params.offset,
            total=page.total or 0,
            next=cursors.token(self.scope, self.locale, query, following),
        )


def _matches(row: EntryRow, **filters: str | None) -> bool:
    return all(value is None or getattr(row, name) == value for name, value in filters.items())


def _parsed_filters(filters: Raw) -> Iterator[Filter]:
    """Raises BadRequest."""
    if bytes(filters) == b"null":
        return
    for field, value in json_object(filters, _SHAPE).items():
        if field == "fields":
            raise BadRequest(NESTED)
        operators = json_object(value, _SHAPE) if bytes(value)[:1] == b"{" else {"eq": value}
        if not operators:
            raise BadRequest(
                f"filter[{shortened(field)}] has no operator: leave the filter out, or use "
                f"{', '.join(OPERATORS)}"
            )
        for operator, operand in operators.items():
            filter_ = Filter(field, operator, ())
            values = _values(filter_, operand)
            texts = tuple(_text(filter_, each) for each in values)
            kinds = tuple(_KINDS.get(bytes(each)[:1], "number") for each in values)
            yield Filter(field, operator, texts, kinds)


def _values(filter_: Filter, value: Raw) -> Sequence[Raw]:
    if filter_.operator not in ANY_OF:
        return (value,)
    if bytes(value)[:1] != b"[":
        raise BadRequest(f"{filter_.label} takes an array")
    values = _ARRAY.decode(value)
    if not values:
        raise BadRequest(f"{filter_.label} has no values: leave the filter out, or use exists")
    # One value too many is enough for the refusal.
    return values[: MOST_VALUES + 1]


def _text(filter_: Filter, value: Raw) -> str:
    """A number as it is written."""
    match bytes(value)[:1]:
        case b'"':
            return msgspec.json.decode(value, type=str)
        case b"[" | b"{" | b"n":
            raise BadRequest(
                f"{filter_.label} takes a string, a number or a boolean, "
                f"not {shortened(_shown(value))}"
            )
    return _shown(value)


def _shown(value: Raw) -> str:
    return bytes(value).decode()


def _selects_total(info: strawberry.Info[Any, Any]) -> bool:
    """Whether the response may have ``pagination.total``."""
    raw = info._raw_info  # noqa: SLF001 - Strawberry has no public name for the nodes

    def selected(name: str, parents: Iterable[FieldNode]) -> list[FieldNode]:
        return [node for node in fields_below(parents, raw.fragments) if node.name.value == name]

    return bool(selected("total", selected("pagination", raw.field_nodes)))
