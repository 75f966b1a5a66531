"""The bodies of the specification (§2), a Struct for each."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from read_side.entries import EntryRow
from write_side.dispatch import Executed
from write_side.domain.events import EntryCreated
from write_side.domain.rendering import Renderer

encode = msgspec.json.Encoder().encode
_WITH_FRACTION = len('"2026-01-31T09:30:00.123000Z"')


class Wire(Struct, frozen=True, rename="camel"):
    """A body, or a part of one."""


class ErrorBody(Wire, frozen=True):
    error: str


class TypeReference(Wire, frozen=True):
    id: str
    name: str
    slug: str


class ListedEntry(Wire, frozen=True):
    """In the list of one type (§4.1)."""

    id: str
    title: str
    slug: str
    status: str
    stage: Raw | None
    language: str
    locale: str
    published_at: str | None
    created_at: str
    updated_at: str
    fields: Raw


class SingleEntry(Wire, frozen=True):
    id: str
    title: str
    slug: str
    status: str
    stage: Raw | None
    language: str
    locale: str
    published_at: str | None
    created_at: str
    updated_at: str
    content_type: TypeReference
    fields: Raw


class AnyEntry(Wire, frozen=True):
    """In the list across types (§4.3): without the language."""

    id: str
    title: str
    slug: str
    status: str
    stage: Raw | None
    locale: str
    published_at: str | None
    created_at: str
    updated_at: str
    content_type: TypeReference
    fields: Raw


class CreatedEntry(Wire, frozen=True):
    id: str
    title: str
    slug: str
    status: str
    content_type: TypeReference
    fields: Raw
    created_at: str
    updated_at: str


class Pagination(Wire, frozen=True):
    limit: int
    offset: int
    total: int


class TypeListBody(Wire, frozen=True):
    success: bool
    data: list[ListedEntry]
    pagination: Pagination


class SingleBody(Wire, frozen=True):
    success: bool
    data: SingleEntry


class ListBody(Wire, frozen=True):
    data: list[AnyEntry]
    pagination: Pagination


class CreatedBody(Wire, frozen=True):
    data: CreatedEntry
    message: str


def timestamp(time: datetime) -> str:
    """ISO 8601 with milliseconds. The time must be in UTC; smaller fractions are cut off."""
    # msgspec is four times as fast as isoformat, and every entry has three timestamps. It returns
    # a quoted text with a fraction of six digits, or none.
    text = encode(time).decode()
    return text[1:24] + "Z" if len(text) == _WITH_FRACTION else text[1:20] + ".000Z"


def optional_timestamp(time: datetime | None) -> str | None:
    return None if time is None else timestamp(time)


def listed(row: EntryRow, locale: str) -> ListedEntry:
    return ListedEntry(
        row.id,
        row.title,
        row.slug,
        row.status,
        row.stage,
        row.language,
        locale,
        optional_timestamp(row.published_at),
        timestamp(row.created_at),
        timestamp(row.updated_at),
        row.fields,
    )


def single(row: EntryRow, locale: str) -> SingleEntry:
    return SingleEntry(
        row.id,
        row.title,
        row.slug,
        row.status,
        row.stage,
        row.language,
        locale,
        optional_timestamp(row.published_at),
        timestamp(row.created_at),
        timestamp(row.updated_at),
        _type_of(row),
        row.fields,
    )


def of_any_type(row: EntryRow, locale: str) -> AnyEntry:
    return AnyEntry(
        row.id,
        row.title,
        row.slug,
        row.status,
        row.stage,
        locale,
        optional_timestamp(row.published_at),
        timestamp(row.created_at),
        timestamp(row.updated_at),
        _type_of(row),
        row.fields,
    )


def created(executed: Executed) -> CreatedEntry:
    """Made from the event, without a read."""
    event, content_type = executed.events[0].event, executed.content_type
    assert isinstance(event, EntryCreated)
    assert content_type is not None
    return CreatedEntry(
        event.entry_id,
        event.title,
        event.slug,
        event.status,
        TypeReference(content_type.id, content_type.name, content_type.slug),
        Raw(Renderer(content_type.fields).render(event.fields)),
        timestamp(event.at),
        timestamp(event.at),
    )


def _type_of(row: EntryRow) -> TypeReference:
    assert row.type_id is not None
    assert row.type_name is not None
    assert row.type_slug is not None
    return TypeReference(row.type_id, row.type_name, row.type_slug)
