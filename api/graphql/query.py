"""What can be asked."""

from __future__ import annotations

from datetime import datetime

import strawberry

from api.graphql.asking import Info, Then
from api.graphql.entry import ContentEntry, entry_of_row, entry_of_the_past
from api.graphql.spending import listed
from api.graphql.types import ContentType, EntryStatus, Pagination, shown_type
from api.rest.parameters import MAX_LIMIT, MAX_OFFSET, searchable, supported_locale
from read_side import content_types, paging
from read_side.entries import EntryRow, id_of_slug
from read_side.refusals import EntryNotFound, TypeNotFound
from write_side.domain.identity import BASE_LANGUAGE, is_id


@strawberry.type
class ContentEntryPage:
    """Some of the entries that match, newest created first."""

    data: list[ContentEntry]
    pagination: Pagination


@strawberry.type
class Query:
    """What can be read, with the permission ``content.view``."""

    @strawberry.field
    async def content_entry(
        self,
        info: Info,
        type: str,  # noqa: A002 - the schema's name
        slug: str,
        language: str | None = BASE_LANGUAGE,
        locale: str | None = strawberry.UNSET,
        as_of: datetime | None = strawberry.UNSET,
    ) -> ContentEntry | None:
        """The entry of a slug, whatever its status, as it is or as it was; null where there is
        none."""
        asking, scope = info.context, await info.context.viewing()
        shown_in = supported_locale(locale or BASE_LANGUAGE)
        named = {
            "type_slug": searchable(type),
            "slug": searchable(slug),
            "language": searchable(language or BASE_LANGUAGE),
        }
        if as_of:
            then = await asking.past.load(Then(**named, locale=shown_in, at=as_of))
            return None if then is None else entry_of_the_past(then, shown_in)
        try:
            found = await id_of_slug(
                asking.service.read_model, scope.workspace, scope.environment, **named
            )
        except EntryNotFound:
            return None
        row = await asking.entries.load((found, shown_in))
        # Read by its id after the slug was looked up: by then it may have another.
        if row is None or not _matches(row, **named):
            return None
        return entry_of_row(row, shown_in)

    @strawberry.field
    async def content_entry_by_id(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002
        locale: str | None = strawberry.UNSET,
    ) -> ContentEntry | None:
        """The entry of an id, whatever its status; null where there is none."""
        await info.context.viewing()
        shown_in = supported_locale(locale or BASE_LANGUAGE)
        row = await info.context.entries.load((id, shown_in)) if is_id(id) else None
        return None if row is None else entry_of_row(row, shown_in)

    @strawberry.field
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
        """Newest first. Without a type, status or language: of any. ``limit`` is clamped to 1 to
        100."""
        asking, scope = info.context, await info.context.viewing()
        shown_in = supported_locale(locale or BASE_LANGUAGE)
        size = min(max(10 if limit is None else limit, 1), MAX_LIMIT)
        start = min(max(offset or 0, 0), MAX_OFFSET)
        wanted = {
            "type_slug": searchable(type) if type else None,
            "status": status.value if status else None,
            "language": searchable(language) if language else None,
        }
        page = await paging.list_ids(
            asking.service.read_model,
            scope.workspace,
            scope.environment,
            paging.Filters(**{name: value or "" for name, value in wanted.items()}),
            limit=size,
            offset=start,
        )
        rows = await asking.entries.load_many([(one, shown_in) for one in page.rows])
        return ContentEntryPage(
            # What was published when the page was made may be a draft by now: it is left out.
            data=[entry_of_row(row, shown_in) for row in rows if row and _matches(row, **wanted)],
            pagination=Pagination(limit=size, offset=start, total=page.total),
        )

    @strawberry.field
    async def content_types(self, info: Info) -> list[ContentType]:
        """All of the environment's, by slug."""
        scope = await info.context.viewing()
        pool = info.context.service.read_model
        rows = await content_types.content_types(pool, scope.workspace, scope.environment)
        return [shown_type(row) for row in listed(info, rows)]

    @strawberry.field
    async def content_type(self, info: Info, slug: str) -> ContentType | None:
        """The content type of a slug; null where there is none."""
        scope = await info.context.viewing()
        pool = info.context.service.read_model
        try:
            row = await content_types.content_type(
                pool, scope.workspace, scope.environment, searchable(slug)
            )
        except TypeNotFound:
            return None
        return shown_type(row)


def _matches(row: EntryRow, **wanted: str | None) -> bool:
    return all(value is None or getattr(row, name) == value for name, value in wanted.items())
