"""Fields of the content types of an environment, by their slugs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct

from read_side.pool import Pool, fetch, learn
from read_side.refusals import TypeNotFound
from write_side.domain.definition import Field
from write_side.domain.identity import Scope
from write_side.postgres.statements import statement

_NAMED = statement("read_side", "fields_named")
_SLUGS = statement("read_side", "field_slugs")
_FIELD = msgspec.json.Decoder(Field)


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
        pool, _NAMED, scope.workspace, scope.environment, sorted(slugs), type_slug
    )
    if not records:
        await learn(pool)
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
        pool, _SLUGS, scope.workspace, scope.environment, named, sorted(field_types), limit
    )
    return [record["slug"] for record in records]
