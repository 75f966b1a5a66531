"""The change feed (ADR 48): pages of the changes that a request selects, in the log's order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from read_side.pool import Pool, fetch
from read_side.stamp import LATEST, position_of
from write_side.domain.events import CHANGE_KINDS, ChangeKind
from write_side.domain.identity import Scope

BEGINNING = 0
END = LATEST
"""Positions before the first change and after the last one."""
MOST = 500
"""Changes on a page; the statements name this number too."""


class ChangeSelection(Struct, frozen=True):
    """Empty ``types`` means any content type. ``types`` and ``kinds`` have no duplicates."""

    types: tuple[str, ...] = ()
    kinds: tuple[ChangeKind, ...] = CHANGE_KINDS
    published_only: bool = False

    def includes(self, change: ChangeRecord) -> bool:
        return (
            (change.published or not self.published_only)
            and (not self.types or change.content_type in self.types)
            and change.kind in self.kinds
        )


class ChangeRecord(Struct, frozen=True, array_like=True):
    """See ``change`` in tables.sql. ``subject``: the id of the entry, or of the content type."""

    position: int
    kind: ChangeKind
    published: bool
    content_type_id: str
    content_type: str
    entry_id: str | None
    slug: str | None
    former_slug: str | None
    language: str | None
    status: str | None
    version: int
    at: datetime
    actor: str

    @property
    def subject(self) -> str:
        return self.entry_id or self.content_type_id


class ChangePage(Struct, frozen=True):
    """Changes after a position.

    ``anchor``: the one at that position, of any selection. ``previous``: the last selected one up
    to it. ``through``: the checkpoint at which the page was read. ``is_last``: the selection has no
    more changes up to there.
    """

    changes: list[ChangeRecord]
    anchor: ChangeRecord | None
    previous: ChangeRecord | None
    through: int
    is_last: bool


async def changes_after(
    pool: Pool, scope: Scope, selection: ChangeSelection, after: int, limit: int
) -> ChangePage:
    """``limit`` is at most MOST. Raises ReadModelUnavailable."""
    name, parameters = _statement(selection)
    where = (scope.workspace, scope.environment, after, limit + 1, *parameters)
    records = await fetch(pool, name, *where)
    found: dict[str, list[ChangeRecord]] = {"anchor": [], "previous": [], "page": []}
    for record in records:
        if record["kind"] is not None:
            found[record["role"]].append(_change(record))
    changes = found["page"]
    return ChangePage(
        changes[:limit],
        next(iter(found["anchor"]), None),
        next(iter(found["previous"]), None),
        position_of(records[0]["stamp"]),
        len(changes) <= limit,
    )


async def newest_changes(
    pool: Pool, scope: Scope, *, before: int, limit: int
) -> list[ChangeRecord]:
    """The newest ones before a position, newest first. Raises ReadModelUnavailable."""
    where = (scope.workspace, scope.environment, before, limit)
    return [_change(record) for record in await fetch(pool, "changes_newest", *where)]


async def position_before(pool: Pool, scope: Scope, time: datetime) -> int:
    """The position of the last change before the time, or BEGINNING.

    Raises ReadModelUnavailable.
    """
    where = (scope.workspace, scope.environment, time)
    [record] = await fetch(pool, "changes_before", *where)
    return int(record["position"])


def _statement(selection: ChangeSelection) -> tuple[str, Sequence[Any]]:
    """The statement for the selection, and its parameters. Each has its own index."""
    published = [True] if selection.published_only else [True, False]
    if selection.types:
        return "changes_of_types", (selection.types, selection.kinds, published)
    if selection.published_only or set(selection.kinds) != set(CHANGE_KINDS):
        return "changes_of_kinds", (selection.kinds, published)
    return "changes", ()


def _change(record: Any) -> ChangeRecord:
    return ChangeRecord(*(record[name] for name in ChangeRecord.__struct_fields__))
