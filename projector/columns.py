"""Entries as rows of the read model, rendered, and rows as columns for set-wise statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from projector.rows import EntryState, PastSlug, TypeRow
from write_side.domain.entry import Entry
from write_side.domain.identity import slug_hash
from write_side.domain.rendering import Renderer

_json = msgspec.json.Encoder()


class Renderers:
    """One renderer for each content type at its newest version."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[int, Renderer]] = {}

    def of(self, row: TypeRow) -> Renderer:
        version, renderer = self._made.get(row.id, (0, None))
        if renderer is None or version != row.version:
            renderer = row.renderer()
            self._made[row.id] = (row.version, renderer)
        return renderer


ENTRY_COLUMNS = (
    "workspace",
    "environment",
    "id",
    "content_type_id",
    "slug",
    "slug_hash",
    "slug_since",
    "title",
    "status",
    "language",
    "stage_id",
    "stage",
    "published_at",
    "created_at",
    "updated_at",
    "position",
    "version",
    "type_version",
    "stored",
    "translations",
    "fields",
)
"""The columns of ``entry``, as ``entry_rows`` and the parameters of ``put_entries`` have them."""


LOCALE_COLUMNS = ("workspace", "environment", "locale", "id", "title", "fields")
"""The columns of ``entry_locale``, as ``locale_rows`` and the parameters of ``put_locales`` do."""

PORTION = 16 * 1024 * 1024
"""Characters of rendered fields that go in one statement: PostgreSQL takes no message of 1 GB."""


def portions(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[list[Any]]]:
    """The parameters of as many set-wise statements as the rows need, of about PORTION each.

    Rows end with their rendered fields, which is what they are weighed by.
    """
    gathered: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        gathered.append(row)
        size += len(row[-1])
        if size >= PORTION:
            yield columns(gathered)
            gathered, size = [], 0
    if gathered:
        yield columns(gathered)


def columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows as the parameters of a set-wise statement; none where there are none."""
    return [list(column) for column in zip(*rows, strict=True)]


def entry_rows(
    states: Iterable[EntryState], types: Mapping[str, TypeRow], renderers: Renderers
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry``, rendered one after another."""
    return (_entry_row(state, types[state.entry.content_type_id], renderers) for state in states)


def _entry_row(state: EntryState, type_: TypeRow, renderers: Renderers) -> tuple[Any, ...]:
    entry = state.entry
    renderer = renderers.of(type_)
    stage = renderer.stage(entry.status, entry.stage_id)
    translations = entry.translations
    return (
        entry.workspace,
        entry.environment,
        entry.id,
        entry.content_type_id,
        entry.slug,
        slug_hash(entry.slug),
        state.slug_since,
        entry.title,
        entry.status,
        entry.language,
        entry.stage_id,
        None if stage is None else bytes(stage).decode(),
        entry.published_at,
        entry.created_at,
        entry.updated_at,
        state.position,
        entry.version,
        type_.version,
        _json.encode(entry.fields).decode(),
        _json.encode(translations).decode() if translations else None,
        renderer.render(entry.fields).decode(),
    )


def locale_rows(
    entries: Iterable[Entry], types: Mapping[str, TypeRow], renderers: Renderers
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry_locale``: one for each locale an entry is translated into."""
    return (
        row
        for entry in entries
        if entry.translations
        for row in _locale_rows(entry, renderers.of(types[entry.content_type_id]))
    )


def _locale_rows(entry: Entry, renderer: Renderer) -> Iterator[tuple[Any, ...]]:
    for locale, translation in entry.translations.items():
        merged = renderer.translated(entry.fields, translation.fields)
        yield (
            entry.workspace,
            entry.environment,
            locale,
            entry.id,
            translation.title or entry.title,
            renderer.render(merged).decode(),
        )


PAST_SLUG_COLUMNS = (
    "workspace",
    "environment",
    "position",
    "content_type_id",
    "language",
    "slug_hash",
    "id",
    "since",
    "until",
)
"""The columns of ``past_slug``, as ``past_slug_rows`` and the parameters of ``put_past_slugs``."""


def past_slug_rows(past: Iterable[PastSlug]) -> Iterator[tuple[Any, ...]]:
    return (
        (
            row.workspace,
            row.environment,
            row.position,
            row.content_type_id,
            row.language,
            slug_hash(row.slug),
            row.id,
            row.since,
            row.until,
        )
        for row in past
    )
