"""An entry as GraphQL shows it: from the read model, from the past, or after a mutation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import datetime

import msgspec
import strawberry
from msgspec import Raw

from api.errors import BadRequest
from api.graphql.context import GraphQLContext, Info
from api.graphql.cost import DEFAULT_LIMITS, charged, charged_list
from api.graphql.types import JSON, ContentType, EntryStatus, Stage, typed_field
from api.rest.parameters import clamped_limit
from api.rest.point_in_time import PastEntry, rendered
from read_side.entries import EntryRow
from read_side.refusals import TypeNotFound
from write_side.domain import definition, entry_changes
from write_side.domain.content_type import ContentType as FoldedType
from write_side.domain.content_type import ContentTypeDefinition
from write_side.domain.entry import Entry
from write_side.domain.identity import BASE_LANGUAGE, is_slug
from write_side.domain.rendering import stored_values
from write_side.domain.values import NULL, is_null, texts_of
from write_side.entry_history import HistoryRequest
from write_side.waiting import in_slices

DEFAULT_LIMIT = DEFAULT_LIMITS["history"]
_STAGE = msgspec.json.Decoder(definition.Stage)


@strawberry.type(
    description="The change of one value. "
    "`field` is a path such as `title`, `fields.body` or `translations.fr-FR.title`."
)
class FieldChange:
    field: str

    @strawberry.field
    @staticmethod
    def before(change: strawberry.Parent[entry_changes.FieldChange], info: Info) -> JSON | None:
        return charged(info, _json_or_none(change.before))

    @strawberry.field
    @staticmethod
    def after(change: strawberry.Parent[entry_changes.FieldChange], info: Info) -> JSON | None:
        return charged(info, _json_or_none(change.after))


@strawberry.type(description="One event of an entry: time, actor, and what it changed.")
class Change:
    version: int
    at: datetime
    actor: str
    action: str

    @typed_field(graphql_type=strawberry.Streamable[FieldChange])
    @staticmethod
    async def fields(
        change: strawberry.Parent[entry_changes.Change], info: Info
    ) -> AsyncIterator[entry_changes.FieldChange]:
        return in_slices(charged_list(info, change.fields))


@strawberry.type(
    description="An entry, in the requested locale. "
    "Texts without a translation are in the original language."
)
class ContentEntry:
    id: strawberry.ID
    row: strawberry.Private[EntryRow]
    status: EntryStatus
    stage: definition.Stage | None = strawberry.field(graphql_type=Stage | None)
    language: str
    locale: str
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime
    version: int
    known_type: strawberry.Private[ContentTypeDefinition | None] = None
    """The type of an entry from the log; it must not be looked up."""
    at: strawberry.Private[datetime | None] = None
    """The time of a past entry; None for one as it is now."""

    # A title or slug may be nearly as large as the whole entry.
    @strawberry.field
    def title(self, info: Info) -> str:
        return charged(info, self.row.title)

    @strawberry.field
    def slug(self, info: Info) -> str:
        return charged(info, self.row.slug)

    @strawberry.field
    def fields(self, info: Info) -> JSON:
        return charged(info, JSON(self.row.fields))

    @typed_field(graphql_type=ContentType)
    async def content_type(self, info: Info) -> ContentTypeDefinition:
        return await self._type(info.context)

    @typed_field(
        "The entries that a reference field names, in its order, without those that are deleted "
        "or that the key may not read. Those of an entry read with `asOf` are as they were then. "
        "Empty if only other content types have the field."
    )
    async def references(self, info: Info, field: str) -> strawberry.Streamable[ContentEntry]:
        context = info.context
        await context.readable()
        known = {
            each.slug: each
            for each in (await self._type(context)).fields
            if each.spec.refers_to == "entry"
        }
        reference = known.get(field)
        if reference is None:
            # The types that others had at a past time are not read.
            is_known = is_slug(field) and (
                self.at is not None or await context.reference_fields.load(field)
            )
            if not is_known:
                raise _unknown_reference(field, known)
            return in_slices([])
        value = stored_values(self.row.fields).get(field, NULL)
        ids = charged_list(info, [] if is_null(value) else texts_of(reference, value))
        if self.at is not None:
            keys = [(entry_id, self.locale, self.at) for entry_id in ids]
            past = filter(None, await context.past_entries.load_many(keys))
            return in_slices(entry_of_past(entry, self.locale, self.at) for entry in past)
        rows = await context.entries.load_many([(entry_id, self.locale) for entry_id in ids])
        return in_slices(entry_of_row(row, self.locale) for row in rows if row is not None)

    @typed_field(
        "The changes of the entry, newest first; `before` a version, if one is given. "
        "They need the permission `content.view`.",
        graphql_type=strawberry.Streamable[Change],
    )
    async def history(
        self, info: Info, limit: int | None = DEFAULT_LIMIT, before: int | None = strawberry.UNSET
    ) -> AsyncIterator[entry_changes.Change]:
        # Earlier versions may have been drafts.
        info.context.check_view()
        await info.context.readable()
        # The history of a past entry ends there.
        bounds = [self.version + 1] if self.at is not None else []
        if isinstance(before, int):
            bounds.append(before)
        request = HistoryRequest(
            self.id, clamped_limit(limit, DEFAULT_LIMIT), min(bounds, default=None)
        )
        return in_slices(await info.context.changes.load(request))

    async def _type(self, context: GraphQLContext) -> ContentTypeDefinition:
        assert self.row.type_id is not None
        content_type = self.known_type or await context.types.load(self.row.type_id)
        if content_type is None:
            # It was deleted after the entry was read, and the entry with it.
            raise TypeNotFound
        return content_type


def entry_of_row(
    row: EntryRow,
    locale: str,
    version: int | None = None,
    content_type: ContentTypeDefinition | None = None,
    at: datetime | None = None,
) -> ContentEntry:
    """``version`` and ``content_type`` are given for an entry from the log, whose row has no
    version."""
    number = row.version if version is None else version
    assert number is not None
    return ContentEntry(
        id=strawberry.ID(row.id),
        row=row,
        status=EntryStatus(row.status),
        stage=None if row.stage is None else _STAGE.decode(row.stage),
        language=row.language,
        locale=locale,
        published_at=row.published_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        version=number,
        known_type=content_type,
        at=at,
    )


def entry_of_log(entry: Entry, content_type: FoldedType) -> ContentEntry:
    row = rendered(entry, content_type, BASE_LANGUAGE)
    return entry_of_row(row, BASE_LANGUAGE, entry.version, content_type)


def entry_of_past(past: PastEntry, locale: str, at: datetime) -> ContentEntry:
    return entry_of_row(past.row, locale, past.entry.version, past.content_type, at)


def _unknown_reference(slug: str, known: Collection[str]) -> BadRequest:
    """``known``: the reference fields of the entry's type."""
    return BadRequest(
        f"'{slug[:100]}' is not a reference field of any content type; "
        + (f"expected one of: {', '.join(known)}" if known else "the entry's type has none")
    )


def _json_or_none(value: Raw) -> JSON | None:
    return None if is_null(value) else JSON(value)
