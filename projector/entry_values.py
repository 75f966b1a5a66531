"""The rows of ``entry_value``: the keys of entries, by list (ADR 43)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct

from projector.rows import TYPES_KEPT, EntryState, Rows, Types, columns
from projector.write_transaction import WriteTransaction
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.entry_keys import SEARCH, EntryKeys, Keys
from write_side.domain.identity import Scope
from write_side.domain.keys import list_id
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

VALUE_COLUMNS = ("workspace", "environment", "position", "list", "key")
AT_ONCE = 20_000
"""Rows in one statement; a key has at most 1 kB."""

ValueRow: TypeAlias = tuple[str, str, int, UUID, bytes]
EntryRowKey: TypeAlias = tuple[str, str, int]
"""Workspace, environment and position of an entry."""


class TypeValues:
    """The rows of entries under one version of their content type."""

    def __init__(self, type_: ContentType) -> None:
        self.version = type_.version
        self._keys = EntryKeys(type_.fields, type_.stages)
        self._lists: dict[tuple[str, str], list[UUID]] = {}

    def rows(self, state: EntryState) -> Iterator[ValueRow]:
        entry, position = state.entry, state.position
        workspace, environment = entry.workspace, entry.environment
        for list_, keys in self._listed(entry):
            for key in keys:
                yield (workspace, environment, position, list_, key)

    def at(self, state: EntryState, paths: Iterable[str]) -> Iterator[ValueRow]:
        """The rows at these paths; paths that the type does not have are left out."""
        lists = set(self.lists(state.entry, paths))
        return (row for row in self.rows(state) if row[3] in lists)

    def changes(
        self, before: EntryState, after: EntryState
    ) -> tuple[list[ValueRow], list[ValueRow]]:
        """The rows that an entry of the same status loses and gains."""
        entry = after.entry
        place = (entry.workspace, entry.environment, after.position)
        lost: list[ValueRow] = []
        gained: list[ValueRow] = []
        earlier = self._keys.of(before.entry)
        for (list_, now), was in zip(self._listed(entry), earlier, strict=True):
            if was != now:
                lost += [(*place, list_, key) for key in was if key not in now]
                gained += [(*place, list_, key) for key in now if key not in was]
        return lost, gained

    def lists(self, entry: Entry, paths: Iterable[str]) -> list[UUID]:
        """The lists of these paths that the entry is in, or was before a change of its type."""
        scope, of_entry = entry.scope, (entry.content_type_id, entry.status, entry.language)
        return [list_id(scope, *of_entry, path) for path in paths]

    def _listed(self, entry: Entry) -> Iterator[tuple[UUID, Keys]]:
        lists = self._lists.get((entry.status, entry.language))
        if lists is None:
            lists = self.lists(entry, self._keys.paths)
            self._lists[entry.status, entry.language] = lists
        return zip(lists, self._keys.of(entry), strict=True)


class ValuesOfTypes:
    """One for each content type at its newest version."""

    def __init__(self) -> None:
        self._made: dict[str, TypeValues] = {}

    def of(self, type_: ContentType) -> TypeValues:
        made = self._made.get(type_.id)
        if made is None or made.version != type_.version:
            if len(self._made) > TYPES_KEPT:
                self._made.clear()
            made = self._made[type_.id] = TypeValues(type_)
        return made


async def copy_values(
    connection: Connection, states: Iterable[EntryState], types: Types, values: ValuesOfTypes
) -> None:
    """Writes the rows of new entries."""
    rows = (
        row for state in states for row in values.of(types[state.entry.content_type_id]).rows(state)
    )
    await connection.copy_records_to_table("entry_value", records=rows, columns=VALUE_COLUMNS)


async def put_values(
    transaction: WriteTransaction,
    before: Rows,
    after: Rows,
    types: Types,
    values: ValuesOfTypes,
    copied: set[str],
) -> None:
    """Writes the differences that a batch makes. ``copied``: new entries whose rows are written."""
    entries: list[EntryRowKey] = []
    removed: list[ValueRow] = []
    added: list[ValueRow] = []
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        if state is None:
            entries += [_row_key(known)] if known is not None else []
            continue
        of_type = values.of(types[state.entry.content_type_id])
        if known is not None and known.entry.status == state.entry.status:
            lost, gained = of_type.changes(known, state)
            removed += lost
            added += gained
        elif entry_id not in copied:
            # A status has lists of its own, also those of paths that the type no longer has.
            entries += [_row_key(known)] if known is not None else []
            added += of_type.rows(state)
    await transaction.add("drop_entry_values", columns(entries))
    await add_parts(transaction, "drop_values", removed)
    # Removed and added rows may be of the same entries, but are never the same rows.
    await add_parts(transaction, "put_values", added)


async def add_parts(transaction: WriteTransaction, name: str, rows: list[ValueRow]) -> None:
    """Adds the statement of this name, ``drop_values`` or ``put_values``, for the rows."""
    for start in range(0, len(rows), AT_ONCE):
        await transaction.add(name, columns(rows[start : start + AT_ONCE]))


def _row_key(state: EntryState) -> EntryRowKey:
    return (state.entry.workspace, state.entry.environment, state.position)


def changed_paths(before: ContentType, after: ContentType) -> set[str]:
    """The paths at which the existing entries of a type have other rows after its revision;
    SEARCH for those of ``entry_search``."""
    paths = [set(EntryKeys(type_.fields, type_.stages).paths) for type_ in (before, after)]
    stages = [[stage.id for stage in type_.stages] for type_ in (before, after)]
    words = [[field.slug for field in type_.searchable] for type_ in (before, after)]
    changed = (paths[0] ^ paths[1]) | ({"stage"} if stages[0] != stages[1] else set())
    return changed | ({SEARCH} if words[0] != words[1] else set())


async def mark_incomplete(connection: Connection, before: Rows, after: Rows) -> None:
    """Notes the types whose entries have to be brought up to date in the background."""
    for type_id, type_ in after.types.items():
        known = before.types.get(type_id)
        if known is None or type_ is None:
            continue
        paths = sorted(changed_paths(known, type_))
        if paths:
            await connection.execute(
                statement("projector", "mark_incomplete"),
                type_.workspace,
                type_.environment,
                type_id,
                paths,
            )


class Incomplete(Struct, frozen=True):
    """What is not yet up to date: the lists at some paths, and the words of all texts of some
    scopes."""

    lists: set[UUID]
    searches: set[Scope]


async def incomplete(connection: Connection) -> Incomplete:
    rows = await connection.fetch(statement("projector", "incomplete_lists"))
    found = [(Scope(workspace, environment), *rest) for workspace, environment, *rest in rows]
    return Incomplete(
        {list_id(scope, *rest) for scope, *rest in found},
        {scope for scope, *_, path in found if path == SEARCH},
    )
