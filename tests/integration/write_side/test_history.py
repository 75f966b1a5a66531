"""The history of many entries at once, with any number of versions of any size."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.projector.sample_log import BODY, SCOPE, ContentBuilder, raws
from write_side import commands as c
from write_side import entry_history
from write_side.dispatch import execute
from write_side.domain.entry_changes import Change
from write_side.domain.events import Translation
from write_side.domain.identity import Actor, Scope, new_id
from write_side.entry_history import HistoryRequest, histories
from write_side.repository import Repository
from write_side.store import streams


@pytest.fixture
def statements(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that are sent from now on."""
    sent: list[str] = []
    fetch = repository.recorder.fetch

    async def counted(statement: str, *parameters: Any) -> Any:
        sent.append(statement)
        return await fetch(statement, *parameters)

    monkeypatch.setattr(repository.recorder, "fetch", counted)
    return sent


async def renamed(builder: ContentBuilder, slug: str, times: int) -> str:
    """An entry whose title was changed this often after its creation."""
    entry_id = await builder.entry(slug)
    for number in range(times):
        await builder.update(entry_id, title=f"{slug} {number + 2}")
    return entry_id


def versions(changes: tuple[Change, ...]) -> list[int]:
    return [change.version for change in changes]


def titles(changes: tuple[Change, ...]) -> list[tuple[Any, Any]]:
    return [
        (msgspec.json.decode(field.before), msgspec.json.decode(field.after))
        for change in changes
        for field in change.fields
        if field.field == "title"
    ]


async def test_history_lists_actors_and_changes_newest_first(
    builder: ContentBuilder, repository: Repository
) -> None:
    await builder.magazine()
    entry_id = await builder.entry("one", fields=raws(body="Hello"))
    await execute(
        c.UpdateEntry(
            actor=Actor("key", "k-1", "website"),
            scope=SCOPE,
            entry_id=entry_id,
            status="published",
            fields=raws(body="Hello again"),
            translations={"fr-FR": Translation("Un")},
        ),
        repository,
    )
    [changes] = await histories(repository, SCOPE, [HistoryRequest(entry_id)])
    assert [(change.version, change.actor, change.action) for change in changes] == [
        (2, "website", "published"),
        (1, "operator test", "created"),
    ]
    assert [(f.field, bytes(f.before), bytes(f.after)) for f in changes[0].fields] == [
        ("status", b'"draft"', b'"published"'),
        ("fields.body", b'"Hello"', b'"Hello again"'),
        ("translations.fr-FR.title", b"null", b'"Un"'),
    ]
    assert changes[0].at >= changes[1].at
    assert changes[0].at.microsecond % 1000 == 0


async def test_many_histories_with_different_windows_take_one_statement(
    builder: ContentBuilder, repository: Repository, statements: list[str]
) -> None:
    await builder.magazine()
    ids = [await renamed(builder, f"entry-{n}", times=n) for n in range(6)]
    statements.clear()
    requests = [
        *(HistoryRequest(one) for one in ids),
        HistoryRequest(ids[5], limit=2),
        HistoryRequest(ids[5], limit=2, before=4),
        HistoryRequest(ids[5], before=1),
        HistoryRequest(ids[5], limit=0),
        HistoryRequest(ids[5], limit=-7, before=-7),
        HistoryRequest(ids[5], before=999),
    ]
    found = await histories(repository, SCOPE, requests)
    assert len(statements) == 1
    assert [versions(changes) for changes in found] == [
        *(list(range(n + 1, 0, -1)) for n in range(6)),
        [6, 5],
        [3, 2],
        [],
        [6],
        [],
        [6, 5, 4, 3, 2, 1],
    ]
    assert titles(found[7]) == [("entry-5 2", "entry-5 3"), ("Entry-5", "entry-5 2")]


async def test_a_limit_is_at_most_a_hundred(
    builder: ContentBuilder, repository: Repository
) -> None:
    await builder.magazine()
    entry_id = await renamed(builder, "one", times=104)
    [changes] = await histories(repository, SCOPE, [HistoryRequest(entry_id, limit=1_000_000)])
    assert versions(changes) == list(range(105, 5, -1))


async def test_the_history_of_other_workspaces_is_not_visible(
    builder: ContentBuilder, repository: Repository
) -> None:
    await builder.magazine()
    entry_id = await builder.entry("one")
    for scope in (Scope("other", "production"), Scope("acme", "staging")):
        assert await histories(repository, scope, [HistoryRequest(entry_id)]) == [()]
    requests = [HistoryRequest(new_id()), HistoryRequest("no \x00"), HistoryRequest(entry_id)]
    assert [len(changes) for changes in await histories(repository, SCOPE, requests)] == [0, 0, 1]
    assert await histories(repository, SCOPE, []) == []


@pytest.mark.parametrize(("rows", "size"), [(1, 10**6), (3, 10**6), (7, 1), (100, 700)])
async def test_history_is_independent_of_page_sizes(
    rows: int,
    size: int,
    builder: ContentBuilder,
    repository: Repository,
    statements: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await builder.magazine()
    ids = [await renamed(builder, f"entry-{n}", times=n) for n in (3, 0, 4)]
    requests = [HistoryRequest(one, limit=3) for one in [ids[2], new_id(), *ids]]
    expected = await histories(repository, SCOPE, requests)
    assert [versions(changes) for changes in expected] == [
        [5, 4, 3], [], [4, 3, 2], [1], [5, 4, 3],
    ]  # fmt: skip
    monkeypatch.setattr(streams, "ROWS", rows)
    monkeypatch.setattr(streams, "BYTES", size)
    statements.clear()
    assert await histories(repository, SCOPE, requests) == expected
    assert len(statements) > 1


async def test_large_changes_are_returned_in_smaller_pages(
    builder: ContentBuilder, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_history, "BYTES", 10_000)
    await builder.workspace()
    await builder.content_type(BODY)
    entry_id = await builder.entry("one", fields=raws(body="0" * 3_000))
    for number in range(1, 7):
        await builder.update(entry_id, fields=raws(body=str(number) * 3_000))
    await builder.update(entry_id, fields=raws(body="7" * 11_000))
    [first] = await histories(repository, SCOPE, [HistoryRequest(entry_id)])
    assert versions(first) == [8]
    [second] = await histories(repository, SCOPE, [HistoryRequest(entry_id, before=8)])
    assert versions(second) == [7, 6, 5]
    assert bytes(second[-1].fields[0].before) == b'"' + b"3" * 3_000 + b'"'
    two = await histories(
        repository, SCOPE, [HistoryRequest(entry_id, before=8), HistoryRequest(entry_id)]
    )
    assert [versions(changes) for changes in two] == [[7], [8]]
