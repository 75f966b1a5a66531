"""An entry as GraphQL shows it, of the read model, of the past, or as a mutation has left it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
import strawberry
from msgspec import Raw

from api.errors import BadRequest
from api.graphql.asking import Asking, Info
from api.graphql.scalars import JSON
from api.graphql.spending import listed, shown
from api.graphql.types import ContentType, Definition, EntryStatus, Field, Stage, shown_type
from api.rest.parameters import MAX_LIMIT
from api.rest.point_in_time import PastEntry, rendered
from read_side.entries import EntryRow
from read_side.refusals import TypeNotFound
from write_side.domain import content_type as domain
from write_side.domain.definition import Stage as WorkflowStage
from write_side.domain.entry import Entry
from write_side.domain.history import Change as HistoryChange
from write_side.history import Asked

_STAGE = msgspec.json.Decoder(WorkflowStage)
_VALUES = msgspec.json.Decoder(dict[str, Raw])
_IDS = msgspec.json.Decoder(list[str] | str | None)


@strawberry.type
class FieldChange:
    """``field`` is a path such as ``title``, ``fields.body`` or ``translations.fr-FR.title``."""

    field: str
    was: strawberry.Private[Raw]
    is_now: strawberry.Private[Raw]

    @strawberry.field
    def before(self, info: Info) -> JSON | None:
        return shown(info, _some(self.was))

    @strawberry.field
    def after(self, info: Info) -> JSON | None:
        return shown(info, _some(self.is_now))


@strawberry.type
class Change:
    """One event of an entry: when, by whom, and what it changed."""

    version: int
    at: datetime
    actor: str
    action: str
    changed: strawberry.Private[list[FieldChange]]

    @strawberry.field
    def fields(self, info: Info) -> list[FieldChange]:
        return listed(info, self.changed)


@strawberry.type
class ContentEntry:
    """An entry, its texts in the locale asked for, and in the original where it has none."""

    id: strawberry.ID
    own_title: strawberry.Private[str]
    own_slug: strawberry.Private[str]
    status: EntryStatus
    stage: Stage | None
    language: str
    locale: str
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime
    values: strawberry.Private[Raw]
    version: int
    type_id: strawberry.Private[str]
    known_type: strawberry.Private[ContentType | None] = None
    """The type where it need not be looked up: as it was then, or as the log has it."""
    is_past: strawberry.Private[bool] = False

    # Titles and slugs may be as long as an entry may be large.
    @strawberry.field
    def title(self, info: Info) -> str:
        return shown(info, self.own_title)

    @strawberry.field
    def slug(self, info: Info) -> str:
        return shown(info, self.own_slug)

    @strawberry.field
    def fields(self, info: Info) -> JSON:
        return shown(info, JSON(self.values))

    @strawberry.field
    async def content_type(self, info: Info) -> ContentType:
        return await self._type(info.context)

    @strawberry.field
    async def references(self, info: Info, field: str) -> list[ContentEntry]:
        """The living entries that a reference field names, in its order."""
        asking = info.context
        await asking.viewing()
        _check_reference((await self._type(asking)).all_fields, field)
        ids = listed(info, _ids(_VALUES.decode(self.values).get(field, Raw(b"null"))))
        rows = await asking.entries.load_many([(one, self.locale) for one in ids])
        return [entry_of_row(row, self.locale) for row in rows if row is not None]

    @strawberry.field
    async def history(
        self, info: Info, limit: int | None = 20, before: int | None = strawberry.UNSET
    ) -> list[Change]:
        """What has happened to the entry, newest first; before a version, where one is given."""
        await info.context.viewing()
        # What is shown of the past knows nothing of what came later.
        bounds = [self.version + 1] if self.is_past else []
        if isinstance(before, int):
            bounds.append(before)
        size = min(max(20 if limit is None else limit, 1), MAX_LIMIT)
        asked = Asked(self.id, size, min(bounds, default=None))
        return [_change(change) for change in await info.context.changes.load(asked)]

    async def _type(self, asking: Asking) -> ContentType:
        found = self.known_type or await asking.types.load(self.type_id)
        if found is None:  # it has gone since the entry was read, and the entry with it
            raise TypeNotFound
        return found


def entry_of_row(
    row: EntryRow, locale: str, version: int | None = None, definition: Definition | None = None
) -> ContentEntry:
    """``version``: where the row does not say it."""
    number = row.version if version is None else version
    assert row.type_id is not None
    assert number is not None
    stage = None if row.stage is None else _STAGE.decode(row.stage)
    return ContentEntry(
        id=strawberry.ID(row.id),
        own_title=row.title,
        own_slug=row.slug,
        status=EntryStatus(row.status),
        stage=None if stage is None else Stage(id=strawberry.ID(stage.id), name=stage.name),
        language=row.language,
        locale=locale,
        published_at=row.published_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        values=row.fields,
        version=number,
        type_id=row.type_id,
        known_type=None if definition is None else shown_type(definition),
    )


def entry_of_log(entry: Entry, content_type: domain.ContentType, locale: str) -> ContentEntry:
    """As the log has it, whether the read model does or not."""
    row = rendered(entry, content_type, locale)
    return entry_of_row(row, locale, entry.version, content_type)


def entry_of_the_past(then: PastEntry, locale: str) -> ContentEntry:
    entry = entry_of_row(then.row, locale, then.entry.version, then.content_type)
    entry.is_past = True
    return entry


def _check_reference(fields: Sequence[Field], slug: str) -> None:
    known = [field.slug for field in fields if field.definition.spec.refers_to == "entry"]
    if slug not in known:
        raise BadRequest(
            f"'{slug[:100]}' is no reference field of this content type; "
            f"it has {', '.join(known) or 'none'}"
        )


def _ids(value: Raw) -> list[str]:
    ids = _IDS.decode(value)
    if ids is None:
        return []
    return [ids] if isinstance(ids, str) else ids


def _change(change: HistoryChange) -> Change:
    return Change(
        version=change.version,
        at=change.at,
        actor=change.actor,
        action=change.action,
        changed=[FieldChange(field=f.field, was=f.before, is_now=f.after) for f in change.fields],
    )


def _some(value: Raw) -> JSON | None:
    return None if bytes(value) == b"null" else JSON(value)
