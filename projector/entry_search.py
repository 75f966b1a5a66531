"""Writes the rows of ``entry_search``, with the lexemes of their words (ADR 45)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import asyncpg
import structlog
from prometheus_client import Counter as Metric

from projector.rows import Rows, Types, columns
from projector.search_rows import (
    ALL_TRANSLATIONS,
    SearchRow,
    search_changes,
    search_document,
    words_of,
)
from projector.write_transaction import WriteTransaction
from read_side.search import Stems
from write_side.domain.entry import Entry
from write_side.domain.words import LONGEST_TEXT
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement
from write_side.waiting import portions

T = TypeVar("T")
AT_ONCE = LONGEST_TEXT + ALL_TRANSLATIONS
"""Characters of one workspace whose words are found while a batch is written: enough for any entry.
The words of a file of 64 MB could take a minute, in which no other write would become visible."""
PORTION = 1_000_000
"""Characters whose words are in memory at the same time, unless a single text has more."""
UNSEARCHABLE = Metric(
    "contentlog_unsearchable_entries",
    "Entries written without words, because their words could not be found or stored",
    registry=None,
)
_FAULTS = (
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
    asyncpg.DataError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.PostgresSyntaxError,  # of a tsvector: the statements themselves are tested
)
"""Errors that a text can cause. Unlike a lost connection, they would occur again."""
_Failed: TypeAlias = dict[str, tuple[Entry, Exception]]
"""The entries whose words failed, by id."""
_log = structlog.get_logger("projector")


class EntrySearch:
    """Writes the rows. ``connection`` is asked for the lexemes of words. ``can_wait``: whether
    those of long texts may be postponed (``postponed_words``)."""

    def __init__(self, connection: Connection, *, can_wait: bool = False) -> None:
        self._connection = connection
        self._can_wait = can_wait
        self._stems = Stems()
        # Not None while each row is written by itself.
        self._failed: _Failed | None = None

    async def carry_out(self, transact: Callable[[], Awaitable[T]]) -> T:
        """Carries out a transaction that writes rows. If it fails with an error that words can
        cause, it is repeated with each row written by itself; rows whose words fail get none.

        Raises what the second attempt raises: no other data is left out.
        """
        try:
            return await transact()
        except _FAULTS:
            self._failed = failed = _Failed()
            try:
                done = await transact()
            finally:
                self._failed = None
            for entry, fault in failed.values():
                _report(entry, fault)
            return done

    async def write(
        self, transaction: WriteTransaction, before: Rows, after: Rows, types: Types
    ) -> None:
        """The rows that a batch changes. ``types``: of the entries in ``after``."""
        changes = search_changes(before, after, types)
        if self._can_wait:
            _postpone([*changes.replaced, *changes.new])
        await transaction.add("drop_search", columns(changes.gone))
        await transaction.add("move_search", columns(changes.moved))
        await self.put(transaction, "replace_search", changes.replaced, types)
        await self.put(transaction, "put_search", changes.new, types)

    async def put(
        self, transaction: WriteTransaction, name: str, rows: Iterable[SearchRow], types: Types
    ) -> None:
        """``name``: ``put_search`` for entries that have no rows, else ``replace_search``."""
        if self._failed is not None:
            for row in rows:
                await self._put_alone(await transaction.flush(), name, row, types, self._failed)
            return
        for portion in portions(rows, lambda row: row.characters, PORTION):
            await transaction.add(name, columns(await self._values(portion, types)))

    async def _put_alone(
        self,
        connection: Connection,
        name: str,
        row: SearchRow,
        types: Types,
        failed: _Failed,
    ) -> None:
        put = statement("projector", name)
        try:
            async with connection.transaction():
                await connection.execute(put, *columns(await self._values([row], types)))
        except _FAULTS as error:
            entry = row.state.entry
            failed.setdefault(entry.id, (entry, error))
            await connection.execute(put, *columns([row.parameters("")]))

    async def _values(self, rows: list[SearchRow], types: Types) -> list[tuple[Any, ...]]:
        """The parameters of ``put_search`` and ``replace_search``."""
        found = [(row, *words_of(row, types)) for row in rows if not row.is_later]
        by_language: dict[str, set[str]] = {}
        for row, title, body in found:
            by_language.setdefault(row.language, set()).update(title, body)
        lexemes = {
            language: await self._stems.lexemes(self._connection.fetch, language, used)
            for language, used in by_language.items()
        }
        return [
            row.parameters(search_document(row.prefix, title, body, lexemes[row.language]))
            for row, title, body in found
        ] + [row.parameters(None) for row in rows if row.is_later]


def _postpone(rows: list[SearchRow]) -> None:
    """Leaves the longest texts of each workspace that has more than AT_ONCE to the background."""
    if sum(row.text.longest for row in rows) <= AT_ONCE:
        return
    left: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: row.text.longest):
        workspace = row.state.entry.workspace
        left[workspace] = left.get(workspace, AT_ONCE) - row.text.longest
        row.is_later = left[workspace] < 0


def _report(entry: Entry, fault: Exception) -> None:
    UNSEARCHABLE.inc()
    # The message of the fault may contain a part of the text.
    named = {"workspace": entry.workspace, "entry": entry.id, "fault": type(fault).__name__}
    _log.error("an entry is not found by search", **named)
