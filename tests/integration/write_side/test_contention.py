"""Commands that compete for the same rows: no update is lost, and no entry lacks a content type."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from tests.integration.projector.sample_log import raws
from tests.integration.write_side import import_fixtures, sample_commands
from tests.integration.write_side.append_locks import holding
from tests.integration.write_side.sample_commands import (
    ACTOR,
    SCOPE,
    TYPE,
    check_store,
    create,
    magazine,
)
from write_side import dispatch
from write_side.commands import RemoveContentType, ReviseContentType, UpdateEntry
from write_side.dispatch import CommandResult, execute
from write_side.domain.definition import Field
from write_side.domain.events import EntryCreated
from write_side.domain.identity import new_id
from write_side.domain.refusals import (
    ContentTypeInUse,
    InvalidField,
    StaleDecision,
    UnknownContentType,
    VersionConflict,
)
from write_side.imports import importer as import_module
from write_side.repository import Repository
from write_side.store.append import Append, Appended


def _remove() -> RemoveContentType:
    return RemoveContentType(actor=ACTOR, scope=SCOPE, slug=TYPE)


def _revise(*slugs: str) -> ReviseContentType:
    fields = tuple(Field(slug, slug.title(), "text") for slug in slugs)
    return ReviseContentType(actor=ACTOR, scope=SCOPE, slug=TYPE, name="Posts", fields=fields)


# Content types that are removed or changed during a create


async def test_a_type_is_not_removed_while_a_create_is_in_progress(
    repositories: list[Repository], database_url: str
) -> None:
    creator, remover, _ = repositories
    await magazine(creator)
    async with holding(database_url) as hold:
        creating = asyncio.create_task(execute(create("post"), creator))
        await hold.until_blocked()
        removing = asyncio.create_task(execute(_remove(), remover))
        await hold.until_blocked(2)
        await hold.release()
        await creating
        with pytest.raises(ContentTypeInUse):
            await removing
    await check_store(creator)


async def test_create_waits_for_a_removal_and_then_finds_no_type(
    repositories: list[Repository], database_url: str
) -> None:
    creator, remover, _ = repositories
    await magazine(creator)
    await creator.content_type(SCOPE, TYPE)  # known, so that the create is decided on it
    async with holding(database_url) as hold:
        removing = asyncio.create_task(execute(_remove(), remover))
        await hold.until_blocked()
        creating = asyncio.create_task(execute(create("post"), creator))
        await hold.until_blocked(2)
        await hold.release()
        await removing
        with pytest.raises(UnknownContentType):
            await creating
    await check_store(creator)


async def test_removals_and_creates_in_any_order_never_leave_an_entry_without_a_type(
    repositories: list[Repository],
) -> None:
    await magazine(repositories[0])
    found: Counter[str] = Counter()
    for turn in range(12):
        work: list[Any] = [
            execute(create(f"{turn}-{n}"), repositories[n % 3]) for n in range(turn % 4)
        ]
        work.insert(turn % 3, execute(_remove(), repositories[turn % 2]))
        outcomes = await asyncio.gather(*work, return_exceptions=True)
        found.update(type(outcome).__name__ for outcome in outcomes)
        await _check_types(repositories[0])
        await _start_over(repositories[0], outcomes)
    assert set(found) <= {"CommandResult", "ContentTypeInUse", "UnknownContentType"}
    await check_store(repositories[0])


async def _check_types(repository: Repository) -> None:
    rows = await repository.recorder.fetch("""
        SELECT FROM write_side.entry_claim WHERE content_type_id NOT IN (
            SELECT id FROM write_side.content_type_claim)""")
    assert not rows


async def _start_over(
    repository: Repository, outcomes: list[CommandResult | BaseException]
) -> None:
    """Creates an empty content type again, whichever of the two commands won."""
    for outcome in outcomes:
        if isinstance(outcome, CommandResult) and isinstance(outcome.events[0].event, EntryCreated):
            await execute(sample_commands.delete(sample_commands.entry_id_of(outcome)), repository)
    repository.forget(SCOPE, TYPE)
    try:
        await repository.content_type(SCOPE, TYPE)
    except UnknownContentType:
        await sample_commands.content_type(repository)


async def test_create_decided_on_an_old_version_is_decided_again(
    repositories: list[Repository], database_url: str
) -> None:
    creator, reviser, _ = repositories
    await magazine(creator)
    await creator.content_type(SCOPE, TYPE)
    async with holding(database_url) as hold:
        revising = asyncio.create_task(execute(_revise("teaser"), reviser))
        await hold.until_blocked()
        values = raws(body="gone by then", teaser="new by then")
        creating = asyncio.create_task(execute(create("post", fields=values), creator))
        await hold.until_blocked(2)
        await hold.release()
        await revising
        created = (await creating).events[0].event
    assert isinstance(created, EntryCreated)
    assert list(created.fields) == ["teaser"]
    await check_store(creator)


async def test_refusal_is_never_given_on_a_content_type_that_has_changed(
    repositories: list[Repository],
) -> None:
    creator, reviser, _ = repositories
    await magazine(creator)
    await creator.content_type(SCOPE, TYPE)
    await execute(_revise("teaser"), reviser)
    with pytest.raises(InvalidField):
        await execute(create("post", fields=raws(teaser=1)), creator)
    created = await execute(create("post", fields=raws(body=1)), creator)
    assert getattr(created.events[0].event, "fields", None) == {}
    await check_store(creator)


# Updates of one entry


async def test_updates_of_one_entry_in_two_processes_both_take_effect(
    repositories: list[Repository], database_url: str
) -> None:
    one, other, _ = repositories
    await magazine(one)
    entry_id = await sample_commands.entry(one, "post")
    update = UpdateEntry(actor=ACTOR, scope=SCOPE, entry_id=entry_id, title="New title")
    publish = UpdateEntry(actor=ACTOR, scope=SCOPE, entry_id=entry_id, status="published")
    async with holding(database_url) as hold:
        both = [
            asyncio.create_task(execute(update, one)),
            asyncio.create_task(execute(publish, other)),
        ]
        await hold.until_blocked(2)  # both were decided on version 1
        await hold.release()
        done = await asyncio.gather(*both)
    assert sorted(executed.events[0].originator_version for executed in done) == [2, 3]
    entry = await one.entry(SCOPE, entry_id)
    assert (entry.title, entry.status, entry.version) == ("New title", "published", 3)
    await check_store(one)


async def test_only_one_update_meets_the_expected_version(
    repositories: list[Repository], database_url: str
) -> None:
    await magazine(repositories[0])
    entry_id = await sample_commands.entry(repositories[0], "post")
    async with holding(database_url) as hold:
        work = [
            asyncio.create_task(
                execute(
                    UpdateEntry(
                        actor=ACTOR,
                        scope=SCOPE,
                        entry_id=entry_id,
                        title=f"By {n}",
                        expected_version=1,
                    ),
                    repository,
                )
            )
            for n, repository in enumerate(repositories)
        ]
        await hold.until_blocked(3)
        await hold.release()
        found = await asyncio.gather(*work, return_exceptions=True)
    assert Counter(map(type, found)) == {CommandResult: 1, VersionConflict: 2}
    await check_store(repositories[0])


# Slow writers


def _retitle(entry_id: str, title: str) -> UpdateEntry:
    return UpdateEntry(actor=ACTOR, scope=SCOPE, entry_id=entry_id, title=title)


async def test_a_slow_update_succeeds_while_another_process_edits_the_entry(
    repositories: list[Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its appends arrives 50 ms after its decision; the other edits every 20 to 100 ms."""
    slow, fast, _ = repositories
    await magazine(slow)
    entry_id = await sample_commands.entry(slow, "post")
    append = slow.recorder.append

    async def slow_append(what: Append) -> Appended:
        await asyncio.sleep(0.05)
        return await append(what)

    async def edit() -> None:
        for number in itertools.count():
            await execute(_retitle(entry_id, f"Fast {number}"), fast)
            await asyncio.sleep(random.uniform(0.02, 0.1))

    monkeypatch.setattr(slow.recorder, "append", slow_append)
    editing = asyncio.create_task(edit())
    for number in range(5):
        done = await execute(_retitle(entry_id, f"Slow {number}"), slow)
        assert len(done.events) == 1
    assert not editing.done()
    editing.cancel()
    await asyncio.gather(editing, return_exceptions=True)
    await check_store(slow)


async def test_a_command_that_loses_every_race_fails(
    repositories: list[Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fast, _ = repositories
    await magazine(slow)
    entry_id = await sample_commands.entry(slow, "post")
    append, edits, seconds = slow.recorder.append, itertools.count(), 0.0

    async def overtaken(what: Append) -> Appended:
        nonlocal seconds
        await execute(_retitle(entry_id, f"Fast {next(edits)}"), fast)
        seconds += dispatch.RETRY_SECONDS / 2
        return await append(what)

    monkeypatch.setattr(slow.recorder, "append", overtaken)
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: seconds))
    with pytest.raises(StaleDecision, match="UpdateEntry conflicted with other writers"):
        await execute(_retitle(entry_id, "Slow"), slow)
    assert next(edits) == 3
    await check_store(slow)


@pytest.mark.parametrize("longest", ["30s", "1ms"])
async def test_an_import_succeeds_while_its_entries_are_edited_unless_it_loses_priority(
    longest: str, repositories: list[Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each check, an edit is sent before the append of the import."""
    monkeypatch.setattr(import_module, "LONGEST", longest)
    slow, fast, _ = repositories
    await import_fixtures.magazine(slow)
    file = "Title,Slug,Body\nOne,one,x\nTwo,two,x\n"
    await import_fixtures.imported(slow, file)
    entry_id = (await import_fixtures.entries(slow, "one"))["one"].id
    edits = itertools.count()

    async def edit() -> None:
        await execute(_retitle(entry_id, f"Edited {next(edits)}"), fast)

    editing: set[asyncio.Task[None]] = set()
    append = slow.recorder.append

    async def slow_append(what: Append) -> Appended:
        editing.add(asyncio.create_task(edit()))
        await asyncio.wait(editing, timeout=0.3 if longest == "30s" else None)
        return await append(what)

    monkeypatch.setattr(slow.recorder, "append", slow_append)
    result = import_fixtures.imported(slow, file.replace("x", "y"), "i-2", update=True)
    if longest == "30s":
        assert (await result).counts.update == 2
    else:
        with pytest.raises(StaleDecision, match="keep changing: try again"):
            await result
    await asyncio.gather(*editing)
    # The edits that had to wait are not lost.
    last = (await slow.entry(SCOPE, entry_id)).title
    assert last == f"Edited {next(edits) - 1}"
    await check_store(slow)


async def test_priority_affects_only_updates_of_entries_of_one_content_type(
    repositories: list[Repository],
) -> None:
    importer, other, _ = repositories
    await magazine(importer)
    await sample_commands.content_type(importer, "pages")
    entry_id = await sample_commands.entry(importer, "post")
    content_type = await importer.content_type(SCOPE, TYPE)
    page = await execute(create("page", content_type_slug="pages"), other)
    async with import_module.priority(importer, content_type.id):
        updating = asyncio.create_task(execute(_retitle(entry_id, "Two"), other))
        assert len((await execute(create("new"), other)).events) == 1
        edited = _retitle(sample_commands.entry_id_of(page), "Two")
        assert len((await execute(edited, other)).events) == 1
        await asyncio.sleep(0.2)
        assert not updating.done()
    assert len((await updating).events) == 1


async def test_an_import_runs_without_priority_while_the_pool_is_busy(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module, "WAIT", 0.05)
    pool = repository.recorder.pool
    has_run = False
    async with AsyncExitStack() as busy:
        for _ in range(pool.get_max_size()):
            await busy.enter_async_context(pool.acquire())
        async with import_module.priority(repository, new_id()):
            has_run = True
    assert has_run
    assert pool.get_idle_size() == pool.get_size()


async def test_a_paused_import_does_not_keep_its_priority(
    repositories: list[Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module, "LONGEST", "200ms")
    monkeypatch.setattr(import_module, "WAIT", 0.05)
    # An overloaded server takes longer to reset a connection than to lend it.
    monkeypatch.setattr(asyncpg.Connection, "get_reset_query", lambda _: "SELECT pg_sleep(0.2)")
    paused, other, _ = repositories
    await magazine(paused)
    entry_id = await sample_commands.entry(paused, "post")
    content_type = await paused.content_type(SCOPE, TYPE)
    async with import_module.priority(paused, content_type.id):
        async with import_module.priority(other, content_type.id):
            pass  # without priority, because it cannot be obtained in time
        assert len((await execute(_retitle(entry_id, "Two"), other)).events) == 1
    assert len((await execute(_retitle(entry_id, "Three"), paused)).events) == 1
