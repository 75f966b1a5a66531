"""Concurrent reads of long histories: few pages are in memory, and workspaces take turns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import asyncpg
import pytest
from msgspec.structs import replace

from api.rest.point_in_time import entries_of_ids
from tests.unit.samples import ENTRY, NOON, created, type_created, updated
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownEntry
from write_side.entry_history import HistoryRequest, ReadBudget, entry_versions, histories
from write_side.fair_queue import Overloaded
from write_side.repository import Repository
from write_side.store.log_reader import ENTRIES
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import LONG_READS, Recorder
from write_side.store.streams import BYTES

PAGES = 3
SCOPES = {name: Scope(name, "production") for name in ("a", "b", "victim")}


class Row(dict[str, Any]):
    """Counts the rows in memory."""

    live = 0

    def __init__(self, **columns: Any) -> None:
        super().__init__(columns)
        Row.live += 1

    def __del__(self) -> None:
        Row.live -= 1


class LongHistory(Recorder):
    """Every entry has a history of ``PAGES`` pages with one event each."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), cast("Any", None))
        self.most = 0

    async def fetch(self, _statement: str, *parameters: Any) -> list[asyncpg.Record]:
        version = parameters[1][0] + 1
        await asyncio.sleep(0)
        stream = parameters[0][0]
        pages = PAGES if stream.startswith(ENTRIES.first) else 1
        rows = [] if version > pages else [_row(stream, version)]
        self.most = max(self.most, Row.live)
        await asyncio.sleep(0)
        return cast("list[asyncpg.Record]", rows)


def _row(stream: str, version: int) -> Row:
    first = created if stream.startswith(ENTRIES.first) else type_created
    event = first() if version == 1 else updated(title=f"t{version}")
    stored = EventMapper().to_stored_event(
        StreamEvent(stream, version, replace(event, workspace="victim"))
    )
    return Row(
        o=1,
        originator_version=version,
        topic=stored.topic,
        state=stored.state.decode(),
        at=NOON,
        bytes=BYTES,
    )


async def _as_of(repository: Repository, scope: Scope) -> None:
    service = cast("Any", SimpleNamespace(repository=repository))
    await entries_of_ids(service, scope, [ENTRY], ReadBudget(), locale="", at=NOON)


async def _history(repository: Repository, scope: Scope) -> None:
    await histories(repository, scope, [HistoryRequest(ENTRY)])


async def _versions(repository: Repository, scope: Scope) -> None:
    await entry_versions(repository, scope, ENTRY, [2])


@pytest.mark.parametrize("read", [_as_of, _history, _versions])
async def test_pages_in_memory_are_bounded_and_workspaces_take_turns(read: Any) -> None:
    recorder, order = LongHistory(), list[str]()
    repository = Repository(recorder, EventMapper())

    async def one(name: str) -> None:
        try:
            await read(repository, SCOPES[name])
        except UnknownEntry:
            assert name != "victim", "the entry is of this workspace"
        order.append(name)

    await asyncio.gather(*map(one, ["a"] * 20 + ["b"] * 20 + ["victim"]))
    assert "victim" in order[:4]
    # Each read holds its current page and the one before.
    assert recorder.most <= 2 * LONG_READS
    assert Row.live == 0


async def test_a_workspace_may_wait_for_a_limited_number_of_histories() -> None:
    repository = Repository(LongHistory(), EventMapper())
    scope = SCOPES["victim"]
    reads: Sequence[Any] = [_as_of(repository, scope) for _ in range(120)]
    outcomes = await asyncio.gather(*reads, return_exceptions=True)
    assert {type(one) for one in outcomes} == {type(None), Overloaded}
    await _as_of(repository, scope)
