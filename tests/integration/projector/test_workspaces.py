"""A read model of some workspaces: it contains their rows, and no others by mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from projector.log import BATCH, Log
from projector.projection import Skipped
from projector.rebuild import operations
from projector.rebuild.operations import NoPreviousReadModel, ReadModelMismatch
from read_side import schema
from read_side.schema import Workspaces, WorkspacesMismatch
from tests.databases import Databases
from tests.integration.live_projector import (
    caught_up,
    checkpoint_of,
    connected,
    dump,
    head_of,
    project_all,
    projecting,
    until_halted,
)
from tests.integration.projector.random_log import WORKSPACES, RandomCommands
from tests.integration.projector.rebuilds import build_settings, silent
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.repository import Repository
from write_side.store import log_reader
from write_side.store.log_reader import batch

ACME, OTHER = ("acme",), ("other",)
BOTH = (*ACME, *OTHER)
OF_ALL_WORKSPACES = {"locale_partition"}
NEWER = "UPDATE write_side.event SET topic = 'newer' WHERE notification_id IN (4, 8)"
# As if an operator had replaced content, without keeping the order of members.
REORDER = """
UPDATE write_side.event SET state = '{"actor":{"kind":"operator","id":"x"},' || substr(
    regexp_replace(state, ',"actor":[{][^}]*[}]', ''), 2)
WHERE notification_id IN (5, 6)"""


@pytest.fixture
def empty_urls(databases: Databases) -> Iterator[list[str]]:
    """Two databases without a read model."""
    with databases.new(empty=True) as first, databases.new(empty=True) as second:
        yield [first, second]


@pytest.fixture
async def acme(empty_urls: list[str]) -> str:
    """An empty read model."""
    return await created(empty_urls[0], ACME)


async def created(url: str, workspaces: Workspaces) -> str:
    async with connected(url) as connection:
        await schema.create(connection, workspaces)
    return url


@pytest.fixture
async def two(repository: Repository) -> list[ContentBuilder]:
    """Two workspaces with two entries each, alternating in the log at positions 5 to 8."""
    both = [ContentBuilder(repository, Scope(workspace, "production")) for workspace in WORKSPACES]
    for builder in both:
        await builder.magazine()
    for slug in ("one", "two"):
        for builder in both:
            await builder.entry(slug)
    return both


async def rebuild(
    store_url: str, model_url: str, workspaces: Workspaces, *, accept: bool = False, **more: Any
) -> operations.RebuildResult:
    settings = build_settings(store_url, model_url, workspaces=workspaces, **more)
    return await operations.rebuild(settings, accept_differences=accept, report=silent)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_the_models_of_each_workspace_have_together_what_the_model_of_all_has(
    seed: int, repository: Repository, database_url: str, acme: str, empty_urls: list[str]
) -> None:
    await RandomCommands(repository, seed).execute(200)
    await project_all(database_url, database_url, [BATCH, 3])
    expected = await dump(database_url)
    other = await created(empty_urls[1], OTHER)
    await project_all(database_url, acme, [BATCH, 3], workspaces=ACME)
    await project_all(database_url, other, [7], workspaces=OTHER)
    parts = [await dump(acme), await dump(other)]
    assert await checkpoint_of(acme) == await head_of(database_url)
    for table in expected.keys() - OF_ALL_WORKSPACES:
        together = Counter(parts[0][table]) + Counter(parts[1][table])
        assert together == Counter(expected[table]), table
    assert all(part["entry"] for part in parts)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_rebuild_holds_the_same_workspaces(
    workers: int,
    repository: Repository,
    database_url: str,
    acme: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_reader, "EVENTS_IN_A_RANGE", 60)
    await RandomCommands(repository, 4).execute(150)
    await project_all(database_url, acme, workspaces=ACME)
    expected = await dump(acme)
    done = await rebuild(database_url, acme, ACME, workers=workers)
    assert (done.position, done.differences) == (await head_of(database_url), [])
    assert await dump(acme) == expected
    settings = build_settings(database_url, acme, workspaces=ACME)
    verified = await operations.verify(settings, silent)
    assert (verified.read_model, verified.not_compared, verified.claims) == ([], None, [])


@pytest.mark.slow
async def test_a_workspace_is_added_by_a_rebuild_and_taken_away_by_a_rollback(
    two: list[ContentBuilder], database_url: str, acme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projector.process.RETRY_HALTED", 1)
    async with projecting(database_url, acme, ACME):
        await caught_up(database_url, acme)
        alone = await dump(acme)
        with pytest.raises(ReadModelMismatch, match="it holds the workspaces 'acme', the new"):
            await rebuild(database_url, acme, BOTH, workers=1)
        assert await dump(acme) == alone
        done = await rebuild(database_url, acme, BOTH, workers=1, accept=True)
        assert "the new one the workspaces 'acme, other'" in str(done.not_compared)
        # The projector with the old settings must not continue as if it held only one.
        await until_halted(acme, "holds the workspaces 'acme, other', but its settings say")
    async with projecting(database_url, acme, BOTH):
        await two[1].entry("three")
        await caught_up(database_url, acme)
    assert len((await dump(acme))["entry"]) == 5
    settings = build_settings(database_url, acme, workspaces=BOTH)
    with pytest.raises(NoPreviousReadModel, match="holds the workspaces 'acme': roll back"):
        await operations.rollback(settings, silent)
    settings = build_settings(database_url, acme, workspaces=ACME)
    await operations.rollback(settings, silent)
    assert (await dump(acme))["entry"] == alone["entry"]
    assert await checkpoint_of(acme) == await head_of(database_url)


async def test_a_read_model_is_not_taken_for_one_of_other_workspaces(acme: str) -> None:
    async with connected(acme) as connection:
        assert not await schema.create(connection, ACME)
        for wanted in (None, OTHER):
            with pytest.raises(WorkspacesMismatch, match="holds the workspaces 'acme', but"):
                await schema.create(connection, wanted)


async def test_events_of_other_workspaces_are_not_even_sent(
    two: list[ContentBuilder], database_url: str
) -> None:
    async with connected(database_url) as store:
        rows = await batch(store, 0, BATCH, 1_000_000, workspaces=ACME)
        held = [row["state"] is not None for row in rows]
        assert held == [True, True, False, False, True, False, True, False]
        # It also takes no room in a batch.
        assert len(await batch(store, 0, BATCH, 1, workspaces=("none",))) == 8
        read = await Log(store, ACME).read(0)
        assert [not isinstance(one.event, Skipped) for one in read] == held


async def test_this_version_need_not_know_the_events_of_other_workspaces(
    two: list[ContentBuilder], database_url: str, acme: str
) -> None:
    async with connected(database_url, session_replication_role="replica") as store:
        await store.execute(NEWER)
    for _ in range(2):
        await project_all(database_url, acme, workspaces=ACME)
        assert await checkpoint_of(acme) == 8
    async with connected(database_url) as store, connected(acme) as model:
        stream = await model.fetchval("SELECT originator_id FROM read_model.checkpoint")
        assert (await Log(store, ACME).checkpoint_at(8)).stream == stream
    assert len((await dump(acme))["entry"]) == 2


async def test_an_event_that_does_not_begin_with_its_workspace_is_read_to_know_it(
    two: list[ContentBuilder], database_url: str
) -> None:
    async with connected(database_url, session_replication_role="replica") as store:
        await store.execute(REORDER)
        rows = await batch(store, 4, 2, 1_000_000, workspaces=ACME)
        assert all(row["state"].startswith('{"actor"') for row in rows)
        ours, others = (await Log(store, ACME).read(4))[:2]
        assert ours.event.workspace == "acme"
        assert isinstance(others.event, Skipped)
