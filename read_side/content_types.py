"""Content types and their fields, as the read model stores them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from read_side.pool import Pool, current_stamp, fetch
from read_side.refusals import TypeNotFound
from write_side.domain.content_type import ContentTypeDefinition
from write_side.domain.definition import Field, decode_fields, decode_stages
from write_side.domain.identity import Scope

_FIELD = msgspec.json.Decoder(Field)


class ContentTypeRow(ContentTypeDefinition, frozen=True):
    """``stamp``: of the checkpoint at which it was read."""

    stamp: int | None = None


async def content_types(pool: Pool, scope: Scope) -> list[ContentTypeRow]:
    """All content types, by slug, which unlike a name is unique and never changes."""
    return [
        _row(record)
        for record in await fetch(pool, "content_types", scope.workspace, scope.environment)
    ]


async def content_type(pool: Pool, scope: Scope, slug: str) -> ContentTypeRow:
    """Raises TypeNotFound."""
    records = await fetch(pool, "content_type", scope.workspace, scope.environment, slug)
    if not records:
        raise TypeNotFound
    return _row(records[0])


async def by_ids(pool: Pool, scope: Scope, ids: Sequence[str]) -> dict[str, ContentTypeRow]:
    """The content types with these ids (UUIDs), by id."""
    records = await fetch(pool, "content_types_by_id", scope.workspace, scope.environment, ids)
    return {record["id"]: _row(record) for record in records}


def _row(record: Any) -> ContentTypeRow:
    decoded = {
        "fields": decode_fields(record["fields"]),
        "stages": decode_stages(record["stages"]),
    }
    return ContentTypeRow(**{**record, **decoded})


class NamedFields(Struct, frozen=True):
    """``fields``: by the slugs of content type and field. ``stamp``: of the checkpoint at which
    they were read; None if no type has any of them."""

    fields: Mapping[tuple[str, str], Field]
    stamp: int | None


async def named_fields(
    pool: Pool, scope: Scope, slugs: Collection[str], type_slug: str | None
) -> NamedFields:
    """The fields with these slugs of all content types. ``type_slug``: a type that must exist.
    Raises TypeNotFound."""
    records = await fetch(
        pool, "fields_named", scope.workspace, scope.environment, sorted(slugs), type_slug
    )
    if not records:
        await current_stamp(pool)  # to report it
    if type_slug is not None and type_slug not in {record["type_slug"] for record in records}:
        raise TypeNotFound
    found = [(record["type_slug"], record["field"]) for record in records if record["field"]]
    fields = [(slug, _FIELD.decode(field)) for slug, field in found]
    return NamedFields(
        {(slug, field.slug): field for slug, field in fields},
        records[0]["stamp"] if records else None,
    )


async def field_slugs(
    pool: Pool,
    scope: Scope,
    types: Collection[str] | None,
    field_types: Collection[str],
    limit: int,
) -> list[str]:
    """The first slugs of the fields of these content types, or of all for None, that have one of
    the field types."""
    named = None if types is None else sorted(types)
    records = await fetch(
        pool, "field_slugs", scope.workspace, scope.environment, named, sorted(field_types), limit
    )
    return [record["slug"] for record in records]
