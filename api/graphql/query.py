"""The queries."""

from __future__ import annotations

from datetime import datetime

import strawberry

from api.graphql.content_entry import ContentEntry, entry_of_past, entry_of_row
from api.graphql.context import Info, PastSlug
from api.graphql.cost import charged_list
from api.graphql.types import (
    ContentType,
    EntryStatus,
    Media,
    Pagination,
    content_type_of,
    described,
)
from api.rest.parameters import clamped_limit, clamped_offset, searchable
from read_side import content_types, paging
from read_side.entries import EntryRow, id_of_slug
from read_side.refusals import EntryNotFound, TypeNotFound
from write_side.domain.identity import BASE_LANGUAGE, is_id
from write_side.domain.locales import check_locale


@strawberry.type(description="A page of the matching entries, newest first.")
class ContentEntryPage:
    data: list[ContentEntry]
    pagination: Pagination


@strawberry.type(
    description="Queries need the permission `content.view`. "
    "With `content.published` they read only published entries."
)
class Query:
    @described(
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
            past = await context.past.load(PastSlug(**named, locale=text_locale, at=as_of))
            return None if past is None else entry_of_past(past, text_locale)
        try:
            found = await id_of_slug(context.service.read_model, scope, **named)
        except EntryNotFound:
            return None
        row = await context.entries.load((found, text_locale))
        # The slug may have changed between the two statements.
        if row is None or not _matches(row, **named):
            return None
        return entry_of_row(row, text_locale)

    @described("The entry with an id, in any status; null if there is none.")
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

    @described(
        "Entries, newest first. Without a type, status or language, those of any that the key "
        "may read. "
        "`limit` is clamped to 1 to 100."
    )
    async def content_entries(
        self,
        info: Info,
        type: str | None = strawberry.UNSET,  # noqa: A002
        status: EntryStatus | None = strawberry.UNSET,
        language: str | None = strawberry.UNSET,
        locale: str | None = strawberry.UNSET,
        limit: int | None = 10,
        offset: int | None = 0,
    ) -> ContentEntryPage:
        context = info.context
        scope = await context.readable(status.value if status else None)
        if not status and context.call.published_only:
            status = EntryStatus.published
        text_locale = check_locale(locale or BASE_LANGUAGE)
        size, start = clamped_limit(limit, 10), clamped_offset(offset)
        wanted = {
            "type_slug": searchable(type) if type else None,
            "status": status.value if status else None,
            "language": searchable(language) if language else None,
        }
        page = await paging.list_ids(
            context.service.read_model,
            scope,
            paging.Filters(wanted["type_slug"], wanted["status"], wanted["language"]),
            limit=size,
            offset=start,
        )
        rows = await context.entries.load_many([(one, text_locale) for one in page.rows])
        return ContentEntryPage(
            # An entry may have changed between the two statements.
            data=[
                entry_of_row(row, text_locale) for row in rows if row and _matches(row, **wanted)
            ],
            pagination=Pagination(limit=size, offset=start, total=page.total),
        )

    @described("The content types of the environment, by slug.")
    async def content_types(self, info: Info) -> list[ContentType]:
        scope = await info.context.readable()
        pool = info.context.service.read_model
        rows = await content_types.content_types(pool, scope)
        return [content_type_of(row) for row in charged_list(info, rows)]

    @described("The content type with a slug; null if there is none.")
    async def content_type(self, info: Info, slug: str) -> ContentType | None:
        scope = await info.context.readable()
        pool = info.context.service.read_model
        try:
            row = await content_types.content_type(pool, scope, searchable(slug))
        except TypeNotFound:
            return None
        return content_type_of(row)

    @described("The file of the media library with an id; null if there is none.")
    async def media(self, info: Info, id: strawberry.ID) -> Media | None:  # noqa: A002
        await info.context.readable()
        file = await info.context.media.load(searchable(id))
        if file is None:
            return None
        return Media(
            id=strawberry.ID(file.id),
            url=file.url,
            name=file.name,
            content_type=file.content_type,
        )


def _matches(row: EntryRow, **wanted: str | None) -> bool:
    return all(value is None or getattr(row, name) == value for name, value in wanted.items())
