"""The demo is created completely and only once, even after an interrupted start."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from deploy.commands.dev import create_demo
from deploy.databases import Databases
from deploy.demo import magazine
from write_side.commands import CreateWorkspace, DeleteEntry, RevokeKey
from write_side.dispatch import execute
from write_side.domain.identity import Actor
from write_side.entry_history import HistoryRequest, histories
from write_side.imports.report import import_report
from write_side.repository import Repository
from write_side.store.recorder import Recorder

ANN = Actor("operator", "ann")
EVENTS = 80  # of the whole demo


class Killed(Exception):
    """Simulates a killed process."""


async def log(repository: Repository) -> list[tuple[str, str]]:
    """The topic and the aggregate of each event."""
    rows = await repository.recorder.log(0, 1000)
    return [(row["topic"], row["originator_id"]) for row in rows]


async def test_the_demo_is_due_once(repository: Repository) -> None:
    assert await magazine.is_due(repository)
    head = await magazine.set_up(repository)
    assert head == await repository.recorder.head()
    assert not await magazine.is_due(repository)
    assert await magazine.has_key(repository)


async def test_of_two_first_starts_at_once_one_creates_it(
    database_url: str, repository: Repository
) -> None:
    found = Databases(database_url, database_url)
    positions = await asyncio.gather(create_demo(found), create_demo(found))
    head = await repository.recorder.head()
    assert set(positions) == {head, None}
    assert len(await log(repository)) == EVENTS


async def test_a_second_set_up_changes_nothing(repository: Repository) -> None:
    head = await magazine.set_up(repository)
    assert await magazine.set_up(repository) == head


async def test_the_demo_shows_an_edited_article_and_a_reverted_import(
    repository: Repository,
) -> None:
    await magazine.set_up(repository)
    request = HistoryRequest(magazine.EDITED)
    [changes] = await histories(repository, magazine.SCOPE, [request])
    assert [change.action for change in changes] == ["restored", "archived", "updated", "created"]
    article = await repository.entry(magazine.SCOPE, magazine.EDITED)
    assert (article.slug, article.status) == ("the-second-best-anchorage", "draft")
    report = await import_report(repository, magazine.SCOPE, magazine.REVERTED)
    assert report.reverted is not None
    assert (len(report.reverted.deleted), len(report.reverted.restored)) == (2, 1)


@pytest.mark.parametrize(
    "appends",
    [9, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 6, 10, 12, 13, 17, 24))],
)
async def test_an_interrupted_start_is_completed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, appends: int
) -> None:
    append = Recorder.append
    done: list[Any] = []

    async def dying(recorder: Recorder, given: Any) -> Any:
        if len(done) == appends:
            raise Killed
        done.append(given)
        return await append(recorder, given)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "append", dying)
        with pytest.raises(Killed):
            await magazine.set_up(repository)
    assert await magazine.is_due(repository)
    await magazine.set_up(repository)
    assert not await magazine.is_due(repository)
    assert len(await log(repository)) == EVENTS


async def test_changes_by_users_are_never_overwritten(repository: Repository) -> None:
    await magazine.set_up(repository)
    *_, last = magazine.translations()
    delete = DeleteEntry(actor=ANN, scope=magazine.SCOPE, entry_id=last.entry_id)
    await execute(delete, repository)
    revoke = RevokeKey(actor=ANN, workspace="magazine", name="demo")
    await execute(revoke, repository)
    assert not await magazine.is_due(repository)
    assert not await magazine.has_key(repository)


async def test_a_log_with_other_content_is_not_touched(repository: Repository) -> None:
    own = CreateWorkspace(actor=ANN, workspace="magazine", name="My own")
    await execute(own, repository)
    assert not await magazine.is_due(repository)
