"""The bodies of behaviour.md §2, one Struct each."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from read_side import lookups
from read_side.content_types import ContentTypeRow
from read_side.entries import EntryRow
from write_side.dispatch import CommandResult
from write_side.domain.events import EntryCreated

encode = msgspec.json.Encoder().encode
_WITH_FRACTION = len('"2026-01-31T09:30:00.123000Z"')


MAX_LIMIT = 100
# The largest whole number that every JSON reader holds exactly.
MAX_OFFSET = 2**53 - 1

# OpenAPI's schemas are generated from these types.
Id = Annotated[str, Meta(description="A UUIDv7.", extra_json_schema={"format": "uuid"})]
Time = Annotated[
    str,
    Meta(
        description="ISO 8601 in UTC, with milliseconds.",
        pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$",
        extra_json_schema={"format": "date-time"},
    ),
]
Published = Annotated[Time | None, Meta(description="Null before the first publication.")]
EntrySlug = Annotated[str, Meta(description="Never translated.")]
Status = Annotated[str, Meta(extra_json_schema={"$ref": "#/components/schemas/EntryStatus"})]
_Stage = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/WorkflowStage"})]
Stage = Annotated[
    _Stage | None,
    Meta(description="The stage in the type's workflow; null without one or in the archive."),
]
Language = Annotated[str, Meta(description="The language the entry was written in.")]
Locale = Annotated[str, Meta(description="The requested locale.")]
Fields = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/EntryFields"})]
FieldType = Annotated[str, Meta(extra_json_schema={"$ref": "#/components/schemas/FieldType"})]


class Wire(Struct, frozen=True, rename="camel"):
    """A body, or a part of one."""


class ErrorBody(Wire, frozen=True):
    error: str


class TypeReference(Wire, frozen=True):
    id: Id
    name: str
    slug: str


class Entry(Wire, frozen=True):
    id: Id
    title: str
    slug: EntrySlug
    status: Status
    stage: Stage


class EntryWithLanguage(Entry, frozen=True):
    language: Language
    locale: Locale
    published_at: Published
    created_at: Time
    updated_at: Time


class ListedEntry(EntryWithLanguage, frozen=True):
    """An entry in the list of one type (§4.1)."""

    fields: Fields


class SingleEntry(EntryWithLanguage, frozen=True):
    content_type: TypeReference
    fields: Fields


class AnyEntry(Entry, frozen=True):
    """An entry in the list across types (§4.3), without its language."""

    locale: Locale
    published_at: Published
    created_at: Time
    updated_at: Time
    content_type: TypeReference
    fields: Fields


class CreatedEntry(Wire, frozen=True):
    id: Id
    title: str
    slug: EntrySlug
    status: Status
    content_type: TypeReference
    fields: Fields
    created_at: Time
    updated_at: Time


class Pagination(Wire, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)]
    offset: Annotated[int, Meta(ge=0, le=MAX_OFFSET)]
    total: Annotated[int, Meta(ge=0)]


class ListPagination(Wire, frozen=True, kw_only=True):
    """With a cursor there is ``next`` instead of ``offset``."""

    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)]
    offset: Annotated[int, Meta(ge=0, le=MAX_OFFSET)] | UnsetType = UNSET
    total: Annotated[
        int | None,
        Meta(
            description="The number of matching entries. Null only with `total=none`, and where "
            "filters match more entries than are counted."
        ),
    ]
    next: Annotated[
        str | UnsetType | None,
        Meta(description="The cursor of the next page; null on the last page."),
    ] = UNSET


class MediaFile(Wire, frozen=True):
    """A file of the media library; media fields hold its id."""

    id: str
    url: str
    name: str
    content_type: str


class Includes(Wire, frozen=True):
    """What the entries of a response refer to, by id, along the paths of `include`."""

    entries: dict[str, AnyEntry]
    media: dict[str, MediaFile]


Included = Annotated[
    Includes | UnsetType, Meta(description="Present only if the request has `include`.")
]


class TypeListBody(Wire, frozen=True):
    success: bool
    data: list[ListedEntry]
    pagination: ListPagination
    includes: Included = UNSET


class SingleBody(Wire, frozen=True):
    success: bool
    data: SingleEntry
    includes: Included = UNSET


class ListBody(Wire, frozen=True):
    data: list[AnyEntry]
    pagination: ListPagination
    includes: Included = UNSET


class CreatedBody(Wire, frozen=True):
    data: CreatedEntry
    message: str


# The domain's Structs omit defaults and refuse unknown keys. In OpenAPI, most properties would be
# optional, and none could be added later.
class Option(Wire, frozen=True):
    value: str
    label: str


class TypeField(Wire, frozen=True):
    """A field, with every property for every type. A section only lays out the editor: it is listed
    here but never has a value."""

    slug: str
    name: str
    type: FieldType
    required: bool
    multiple: bool
    range: bool
    options: list[Option]
    to: list[str]
    fields: list[TypeField]
    indexed: bool
    searchable: bool


class WorkflowStage(Wire, frozen=True):
    id: str
    name: str


class Workflow(Wire, frozen=True):
    stages: list[WorkflowStage]


class ContentType(Wire, frozen=True):
    id: Id
    name: str
    slug: str
    workflow: Workflow | None
    fields: list[TypeField]
    created_at: Time
    updated_at: Time


class ContentTypesBody(Wire, frozen=True):
    success: bool
    data: list[ContentType]


class ContentTypeBody(Wire, frozen=True):
    success: bool
    data: ContentType


class MediaListBody(Wire, frozen=True):
    success: bool
    data: list[MediaFile]
    pagination: Pagination


class MediaBody(Wire, frozen=True):
    success: bool
    data: MediaFile


class LanguageCount(Wire, frozen=True):
    """``entries``: the number of entries written in the language."""

    code: str
    name: str
    entries: Annotated[int, Meta(ge=1)]


class LocaleCount(Wire, frozen=True):
    """``translations``: the number of entries with a translation into the locale."""

    code: str
    name: str
    translations: Annotated[int, Meta(ge=1)]


# If it were named Locales, generated Python would use one variable for it and for its member.
class UsedLocales(Wire, frozen=True):
    languages: list[LanguageCount]
    locales: list[LocaleCount]


class LocalesBody(Wire, frozen=True):
    success: bool
    data: UsedLocales


def timestamp(time: datetime) -> str:
    """ISO 8601 with milliseconds. The time must be in UTC; smaller fractions are cut off."""
    # msgspec is four times as fast as isoformat, and every entry has three timestamps. It returns
    # quoted text with a fraction of six digits or none.
    text = encode(time).decode()
    return text[1:24] + "Z" if len(text) == _WITH_FRACTION else text[1:20] + ".000Z"


def listed_entry(row: EntryRow, locale: str) -> ListedEntry:
    return ListedEntry(*_head(row), row.language, locale, *_times(row), row.fields)


def single_entry(row: EntryRow, locale: str) -> SingleEntry:
    return SingleEntry(*_head(row), row.language, locale, *_times(row), _type_of(row), row.fields)


def entry_of_any_type(row: EntryRow, locale: str) -> AnyEntry:
    return AnyEntry(*_head(row), locale, *_times(row), _type_of(row), row.fields)


def _head(row: EntryRow) -> tuple[str, str, str, str, Raw | None]:
    return row.id, row.title, row.slug, row.status, row.stage


def _times(row: EntryRow) -> tuple[str | None, str, str]:
    return (
        None if row.published_at is None else timestamp(row.published_at),
        timestamp(row.created_at),
        timestamp(row.updated_at),
    )


def created_entry(executed: CommandResult) -> CreatedEntry:
    """Built from the event, without a read."""
    event, content_type = executed.events[0].event, executed.content_type
    assert isinstance(event, EntryCreated)
    assert content_type is not None
    return CreatedEntry(
        event.entry_id,
        event.title,
        event.slug,
        event.status,
        TypeReference(content_type.id, content_type.name, content_type.slug),
        Raw(content_type.renderer.render(event.fields)),
        timestamp(event.at),
        timestamp(event.at),
    )


def _type_of(row: EntryRow) -> TypeReference:
    assert row.type_id is not None
    assert row.type_name is not None
    assert row.type_slug is not None
    return TypeReference(row.type_id, row.type_name, row.type_slug)


def media_file(file: lookups.MediaFile) -> MediaFile:
    return MediaFile(file.id, file.url, file.name, file.content_type)


def content_type(row: ContentTypeRow) -> ContentType:
    stages = [WorkflowStage(stage.id, stage.name) for stage in row.stages]
    return ContentType(
        id=row.id,
        name=row.name,
        slug=row.slug,
        workflow=Workflow(stages) if stages else None,
        fields=msgspec.convert(row.fields, list[TypeField], from_attributes=True),
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
    )
