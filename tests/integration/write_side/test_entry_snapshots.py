"""An update reads a bounded part of an entry's history, and snapshots agree with the log."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest
from msgspec import Raw

from tests.integration.live_projector import connected
from tests.integration.write_side.handler_fixtures import SCOPE, HandlerContext, magazine
from write_side import commands as c
from write_side import entry_snapshots
from write_side.domain.entry import Entry
from write_side.entry_snapshots import BYTES, EVENTS, shape_of
from write_side.repository import Repository
from write_side.store import recorder as recorders
from write_side.verification.claim_check import Difference, claim_differences, repair_claims

VERSIONS = 3 * EVENTS
SNAPSHOTS = "SELECT stream, version FROM write_side.entry_snapshot"


class _NoProgress:
    def begin(self, phase: str, total: int) -> None: ...

    def advance(self, done: int) -> None: ...


class Reads:
    """The rows and bytes of entries that the recorder has read."""

    def __init__(self) -> None:
        self.rows = self.bytes = 0

    def take(self, rows: list[asyncpg.Record]) -> None:
        entries = [row for row in rows if "o" in row]
        self.rows += len(entries)
        self.bytes += sum(len(row["state"]) for row in entries)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found, fetch = Reads(), recorders.Recorder.fetch

    async def counted(self: recorders.Recorder, statement: str, *args: Any) -> Any:
        rows = await fetch(self, statement, *args)
        found.take(rows)
        return rows

    monkeypatch.setattr(recorders.Recorder, "fetch", counted)
    return found


async def _updated(context: HandlerContext, entry: str, times: int, **fields: str) -> None:
    for _ in range(times):
        n = context.requests
        values = {slug: Raw(f'"{n} {text}"'.encode()) for slug, text in fields.items()}
        await context.update(entry, title=f"Title {n}", fields=values)


async def _differences(url: str) -> list[Difference]:
    async with connected(url) as connection:
        return await claim_differences(connection, _NoProgress())


async def _folded(repository: Repository, entry: str) -> Entry:
    *_, (state, _) = [each async for each in repository.entry_states([entry])]
    return state


async def test_an_update_reads_no_more_after_many_versions(
    repository: Repository, reads: Reads
) -> None:
    context = await magazine(repository)
    entry = await context.entry("a", "authors")
    most = 0
    for _ in range(VERSIONS):
        before = reads.rows
        await _updated(context, entry, 1)
        most = max(most, reads.rows - before)
    assert most == 1 + EVENTS + 1  # a snapshot, and the events after it until another is due
    assert (await repository.entry(SCOPE, entry)) == await _folded(repository, entry)
    assert (await repository.entry(SCOPE, entry)).version == VERSIONS + 1


async def test_an_update_of_a_large_entry_reads_few_of_its_bytes(
    repository: Repository, reads: Reads, database_url: str
) -> None:
    context = await magazine(repository)
    entry = await context.entry("a", "authors", fields={"bio": Raw(b'"' + b"x" * BYTES + b'"')})
    await _updated(context, entry, 12, bio="y" * BYTES)
    before = reads.bytes
    await _updated(context, entry, 1)
    assert reads.bytes - before < 5 * BYTES
    assert await repository.entry(SCOPE, entry) == await _folded(repository, entry)
    assert await _differences(database_url) == []


async def test_an_entry_after_a_version_is_not_the_snapshot_of_a_later_one(
    repository: Repository,
) -> None:
    context = await magazine(repository)
    entry = await context.entry("a", "authors")
    await _updated(context, entry, EVENTS + 3)
    assert await repository.recorder.fetch(SNAPSHOTS)
    states = {state.version: state async for state, _ in repository.entry_states([entry])}
    for version in (1, 2, EVENTS, EVENTS + 2, EVENTS + 4):
        assert await repository.entry_after(entry, version) == states[version]


async def test_a_deleted_entry_has_no_snapshot(repository: Repository) -> None:
    context = await magazine(repository)
    entry = await context.entry("a", "authors")
    await _updated(context, entry, EVENTS + 2)
    assert len(await repository.recorder.fetch(SNAPSHOTS)) == 1
    await context.execute(c.DeleteEntry, scope=SCOPE, entry_id=entry)
    assert await repository.recorder.fetch(SNAPSHOTS) == []
    assert await repository.entries(SCOPE, [entry]) == {}


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("state = replace(state, 'Title', 'Lie')", "different"),
        ("version = version + 1000", "unknown"),
        ("version = version - 1", "different"),
    ],
)
async def test_a_wrong_snapshot_is_found_and_repaired(
    repository: Repository, database_url: str, damage: str, kind: Any
) -> None:
    context = await magazine(repository)
    entry = await context.entry("a", "authors")
    await _updated(context, entry, EVENTS + 2)
    assert await _differences(database_url) == []
    async with connected(database_url) as owner:
        await owner.execute(f"UPDATE write_side.entry_snapshot SET {damage}")  # noqa: S608
        wrong = await _differences(database_url)
        assert wrong == [Difference("entry_snapshot", f'["{entry}"]', kind)]
        await repair_claims(owner, wrong)
    assert await _differences(database_url) == []
    assert await repository.entry(SCOPE, entry) == await _folded(repository, entry)


async def test_a_snapshot_of_a_different_shape_is_not_used(
    repository: Repository, database_url: str
) -> None:
    context = await magazine(repository)
    entry = await context.entry("a", "authors")
    await _updated(context, entry, EVENTS + 2)
    async with connected(database_url) as owner:
        await owner.execute("UPDATE write_side.entry_snapshot SET shape = 'older', state = '{}'")
    assert await repository.entry(SCOPE, entry) == await _folded(repository, entry)
    assert await _differences(database_url) == []


def test_the_shape_changes_with_the_fields_and_with_the_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = shape_of(Entry)
    assert before == shape_of(Entry) != shape_of(c.UpdateEntry)
    monkeypatch.setattr(entry_snapshots, "FOLD", entry_snapshots.FOLD + 1)
    assert shape_of(Entry) != before
