"""Content types, as the read model stores them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from read_side.pool import Pool, fetch
from read_side.refusals import TypeNotFound
from write_side.domain.definition import Field, Stage
from write_side.domain.identity import Scope
from write_side.postgres.statements import statement

_ALL = statement("read_side", "content_types")
_ONE = statement("read_side", "content_type")
_BY_ID = statement("read_side", "content_types_by_id")


class ContentTypeRow(Struct, frozen=True):
    """The fields include sections; without a workflow there are no stages. ``stamp``: of the
    checkpoint at which it was read."""

    id: str
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...]
    created_at: datetime
    updated_at: datetime
    stamp: int | None = None


_FIELDS = msgspec.json.Decoder(tuple[Field, ...])
_STAGES = msgspec.json.Decoder(tuple[Stage, ...])


async def content_types(pool: Pool, scope: Scope) -> list[ContentTypeRow]:
    """All content types, by slug, which unlike a name is unique and never changes."""
    return [_row(record) for record in await fetch(pool, _ALL, scope.workspace, scope.environment)]


async def content_type(pool: Pool, scope: Scope, slug: str) -> ContentTypeRow:
    """Raises TypeNotFound."""
    records = await fetch(pool, _ONE, scope.workspace, scope.environment, slug)
    if not records:
        raise TypeNotFound
    return _row(records[0])


async def by_ids(pool: Pool, scope: Scope, ids: Sequence[str]) -> dict[str, ContentTypeRow]:
    """The content types with these ids (UUIDs), by id."""
    records = await fetch(pool, _BY_ID, scope.workspace, scope.environment, ids)
    return {record["id"]: _row(record) for record in records}


def _row(record: Any) -> ContentTypeRow:
    return ContentTypeRow(
        id=record["id"],
        slug=record["slug"],
        name=record["name"],
        fields=_FIELDS.decode(record["fields"]),
        stages=_STAGES.decode(record["stages"]),
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        stamp=record["stamp"],
    )
