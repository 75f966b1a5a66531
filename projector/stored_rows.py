"""Loads the rows that a batch builds on from the read model, with set-based statements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from projector.projection import RecordedEvent, beginning_of, required_rows
from projector.rows import (
    TYPE_COLUMNS,
    TYPES_KEPT,
    EntryState,
    ImportRow,
    Rows,
    TypeKey,
    WebhookRow,
    columns,
)
from write_side.domain.content_type import ContentType
from write_side.domain.definition import decode_fields, decode_stages
from write_side.domain.entry import Entry
from write_side.domain.rendering import stored_translations, stored_values
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

T = TypeVar("T")
FEW = 16
LOADED_BYTES = 32 * 1024 * 1024
"""Bytes of the entries that a batch builds on, in memory. Up to FEW entries are not measured."""


async def fit_in_memory(connection: Connection, batch: list[RecordedEvent]) -> list[RecordedEvent]:
    """The batch, or its longest beginning that builds on at most LOADED_BYTES of entries."""
    wanted = required_rows(batch).entries
    if len(wanted) <= FEW:
        return batch
    rows = await connection.fetch(statement("projector", "load_entry_sizes"), *columns(wanted))
    return beginning_of(batch, {row["id"]: row["bytes"] for row in rows}, LOADED_BYTES)


async def load_rows(
    connection: Connection, batch: list[RecordedEvent], types: dict[str, ContentType]
) -> Rows:
    """The rows before the batch. ``types`` is a cache of content types, which it fills."""

    async def load(name: str, *parameters: Any) -> list[Any]:
        return await connection.fetch(statement("projector", name), *parameters)

    wanted = required_rows(batch)
    before = Rows()
    if wanted.entries:
        rows = await load("load_entries", *columns(wanted.entries))
        before.entries.update((row["id"], entry_state(row)) for row in rows)
    await add_missing(types, wanted.types, partial(load_types, connection))
    before.types.update((i, types[i]) for _, i in wanted.types if i in types)
    if wanted.webhooks:
        rows = await load("load_webhooks", *columns(wanted.webhooks))
        before.webhooks.update(
            ((row["workspace"], row["name"]), msgspec.convert(dict(row), WebhookRow))
            for row in rows
        )
    if wanted.imports:
        rows = await load("load_imports", *columns(wanted.imports))
        before.imports.update((row["id"], ImportRow(**row)) for row in rows)
    return before


async def add_missing(
    known: dict[str, T],
    wanted: Collection[TypeKey],
    load: Callable[[Collection[TypeKey]], Awaitable[Mapping[str, T]]],
) -> None:
    """Loads what a cache, by ids of content types, lacks of the wanted. First empties the cache if
    it has more than TYPES_KEPT."""
    if len(known) > TYPES_KEPT:
        known.clear()
    missing = [key for key in wanted if key[1] not in known]
    if missing:
        known.update(await load(missing))


async def load_types(connection: Connection, keys: Iterable[TypeKey]) -> dict[str, ContentType]:
    """The content types that exist, by id."""
    rows = await connection.fetch(statement("projector", "load_types"), *columns(keys))
    return {row["id"]: type_row(row) for row in rows}


def entry_state(row: Any) -> EntryState:
    """The entry in a row of ``entry``, sufficient to fold further events onto it."""
    values = dict(row)
    translations = values.pop("translations")
    position, slug_since = values.pop("position"), values.pop("slug_since")
    entry = Entry(
        fields=stored_values(values.pop("stored")),
        translations=stored_translations(translations) if translations else {},
        **values,
    )
    return EntryState(entry, position, slug_since)


def type_row(row: Any) -> ContentType:
    """``row`` may have further columns."""
    values = {name: row[name] for name in TYPE_COLUMNS}
    values |= {"fields": decode_fields(row["fields"]), "stages": decode_stages(row["stages"])}
    return ContentType(**values)
