"""Replays ranges of entries' streams into tables without indexes: fold, render, COPY."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable
from functools import partial
from typing import Any

from msgspec import Struct

from projector.checkpoint import hold_checkpoint
from projector.entry_rows import ENTRY_COLUMNS, entry_rows, locale_rows
from projector.entry_search import EntrySearch, search_rows
from projector.entry_values import ValuesOfTypes, copy_values
from projector.history import add_history
from projector.log import Log
from projector.partitions import LOCALE_COLUMNS, RebuildPartitions
from projector.projection import Inconsistent, RecordedEvent, Skipped, next_state
from projector.rows import (
    EntryState,
    LocaleKey,
    Rows,
    TypeKey,
    columns,
    locale_keys,
)
from projector.stored_rows import add_missing, load_types
from projector.write_transaction import WriteTransaction, write_transaction
from write_side.domain.content_type import ContentType
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement
from write_side.store.log_reader import StreamRange


class ReplayResult(Struct, frozen=True, tag=True):
    """The result of a range: the number of events read, and the number of translations that exist,
    by their keys."""

    events: int
    translations: list[tuple[LocaleKey, int]]


class Replay:
    """Writes the entries of ranges of streams into the read model that is being built.

    Raises CheckpointConflict if the tables have a different ``epoch``, because they belong to
    another build. Memory use is limited to a few times ``page_bytes``.
    """

    def __init__(
        self, log: Log, model: Connection, epoch: int, through: int, page_bytes: int
    ) -> None:
        self._log = log
        self._model = model
        self._epoch = epoch
        self._through = through
        self._page_bytes = page_bytes
        self._types: dict[str, ContentType] = {}
        self._search = EntrySearch(model)
        self._values = ValuesOfTypes()
        self._partitions = RebuildPartitions(model)

    async def replay(self, streams: StreamRange, read: Callable[[int], None]) -> ReplayResult:
        """``read`` gets the number of events of each page.

        Raises Halted, Inconsistent, CheckpointConflict.
        """
        events, fold = 0, EntryFold()
        self._translations: Counter[LocaleKey] = Counter()
        async for page in self._log.pages(streams, self._through, self._page_bytes):
            events += len(page)
            read(len(page))
            page = [one for one in page if not isinstance(one.event, Skipped)]
            await self._load_slugs(page, fold.type_slugs)
            await self._write(fold.complete(page))
            await self._write_history(fold.history)
        await self._write(fold.last())
        return ReplayResult(events, list(self._translations.items()))

    async def _write(self, states: list[EntryState]) -> None:
        if not states:
            return
        await self._load_types({_type_key(state.entry) for state in states})
        entries = [state.entry for state in states]
        await self._partitions.count(entries)

        async def transact() -> None:
            async with write_transaction(self._model) as transaction:
                await hold_checkpoint(await transaction.flush(), self._epoch)
                await self._copy(transaction, states)

        await self._search.carry_out(transact)
        for entry in entries:
            self._translations.update(locale_keys(entry))

    async def _write_history(self, history: Rows) -> None:
        async with self._model.transaction():
            await hold_checkpoint(self._model, self._epoch)
            for table, names, rows in history.added_rows():
                await self._model.copy_records_to_table(table, records=rows, columns=names)

    async def _load_slugs(self, page: Iterable[RecordedEvent], known: dict[str, str]) -> None:
        """Loads the slugs of the page's content types, also of those that were removed since."""
        wanted = {_type_key(recorded.event) for recorded in page}
        await add_missing(known, wanted, self._slugs)
        _refuse_unknown(wanted, known)

    async def _slugs(self, keys: Collection[TypeKey]) -> dict[str, str]:
        rows = await self._model.fetch(statement("projector", "load_type_slugs"), *columns(keys))
        return {row["id"]: row["slug"] for row in rows}

    async def _copy(self, transaction: WriteTransaction, states: list[EntryState]) -> None:
        await self._model.copy_records_to_table(
            "entry",
            records=entry_rows(states, self._types),
            columns=ENTRY_COLUMNS,
        )
        await copy_values(self._model, states, self._types, self._values)
        translated = [state.entry for state in states if state.entry.translations]
        if translated:
            await self._model.copy_records_to_table(
                "entry_locale",
                records=self._partitions.rows(locale_rows(translated, self._types)),
                columns=LOCALE_COLUMNS,
            )
        rows = search_rows(states, self._types)
        await self._search.put(transaction, "put_search", rows, self._types)

    async def _load_types(self, wanted: set[TypeKey]) -> None:
        await add_missing(self._types, wanted, partial(load_types, self._model))
        _refuse_unknown(wanted, self._types)


def _type_key(of_type: Any) -> TypeKey:
    """Of an entry or an event."""
    return (of_type.workspace, of_type.content_type_id)


def _refuse_unknown(wanted: set[TypeKey], known: Container[str]) -> None:
    unknown = {type_id for _, type_id in wanted if type_id not in known}
    if unknown:
        raise Inconsistent(
            f"the log has entries of content types that it does not have: {sorted(unknown)}"
        )


class EntryFold:
    """Folds streams one after another; a stream may continue in the next page.

    ``history``: of the last page, see ``add_history``. ``type_slugs``: of its content types, by id.
    """

    def __init__(self) -> None:
        self.history = Rows()
        self.type_slugs: dict[str, str] = {}
        self._stream = ""
        self._state: EntryState | None = None

    def complete(self, page: Iterable[RecordedEvent]) -> list[EntryState]:
        """The entries whose streams ended within the page, without those that were deleted."""
        ended: list[EntryState] = []
        self.history = Rows()
        for recorded in page:
            if recorded.stream != self._stream:
                ended += self.last()
                self._stream = recorded.stream
            before, self._state = self._state, next_state(self._state, recorded)
            slug = self.type_slugs[self._state.entry.content_type_id]
            add_history(self.history, recorded.event, recorded.position, before, self._state, slug)
        return ended

    def last(self) -> list[EntryState]:
        state, self._state = self._state, None
        return [] if state is None or state.entry.deleted else [state]
