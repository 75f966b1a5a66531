"""The import checks the file again and appends it at once, without blocking other writers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw

from tests.integration.write_side.append_locks import connected, holding
from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    SCOPE,
    create,
    entries,
    imported,
    preview_of,
    request_for,
    table_of,
    values,
)
from tests.integration.write_side.sample_commands import check_store
from write_side.commands import UpdateEntry
from write_side.dispatch import execute
from write_side.domain.entry import Entry
from write_side.domain.events import EntryCreated, EntryUpdated, ImportRecorded
from write_side.domain.identity import Actor, slug_hash
from write_side.imports.check import DryRun, check
from write_side.imports.importer import ImportRun, PreviewOutdated, run_import
from write_side.imports.preview import differences
from write_side.imports.report import LONGEST_NOTE, import_report
from write_side.repository import Repository
from write_side.store import appender
from write_side.store.retention import delete_leftovers

FILE = "Title,Body,Views\nOne,x,1\nTwo,x,2\n"
_STAGED = "SELECT count(*) FROM write_side.staged_event"


async def update(repository: Repository, entry: Entry, **properties: Any) -> None:
    await execute(
        UpdateEntry(actor=OPERATOR, scope=SCOPE, entry_id=entry.id, **properties), repository
    )


async def staged(repository: Repository) -> int:
    return int((await repository.recorder.fetch(_STAGED))[0]["count"])


async def test_an_import_is_contiguous_in_the_log_with_one_actor(magazine: Repository) -> None:
    await imported(magazine, FILE)
    before = await magazine.recorder.head()
    more = FILE.replace("x,1", "y,1") + "Three,x,3\n"
    report = await imported(magazine, more, "i-2", update=True)
    rows = await magazine.recorder.log(before, 10)
    events = [magazine.mapper.decode(row["topic"], row["state"], row["at"]) for row in rows]
    assert [type(event) for event in events] == [ImportRecorded, EntryUpdated, EntryCreated]
    assert {event.actor for event in events} == {Actor("import", "i-2", "posts.csv")}
    assert report.position == await magazine.recorder.head()
    assert [row.state for row in report.rows] == ["update", "unchanged", "new"]
    assert await staged(magazine) == 0
    await check_store(magazine)


async def test_long_errors_of_a_row_are_visibly_cut(
    magazine: Repository,
) -> None:
    author = "-".join(["nobody"] * 30)
    file = f"Title,Body,Views,Author,About,Related,Cover\nOne,x,many,{author},{author},no,none\n"
    shown = await preview_of(magazine, file + "Two,x,2,,,,\n")
    properties = "; ".join(f"{note.heading} {note.reason}" for note in shown.rows[0].notes)
    assert len(properties) > LONGEST_NOTE
    await imported(magazine, file + "Two,x,2,,,,\n", ready_only=True)
    report = await import_report(magazine, SCOPE, "i-1")
    note = report.rows[0].notes[0].reason
    assert note.endswith("…")
    assert len(note) <= LONGEST_NOTE
    assert properties.startswith(f"{note[:-1]} ")


async def test_a_confirmed_preview_is_imported(magazine: Repository) -> None:
    table = table_of(FILE)
    request = await request_for(magazine, table)
    shown = await preview_of(magazine, table)
    await create(magazine, "topics", "Of no concern")
    report = await run_import(ImportRun(magazine, table, request, OPERATOR), shown)
    assert (report.counts.new, report.by) == (2, "operator ann")


async def test_changes_since_the_preview_are_reported_and_not_imported(
    magazine: Repository,
) -> None:
    table = table_of('Title,Body,About\nOne,x,"ada"\nTwo,x,sea\nThree,x,\n')
    request = await request_for(magazine, table)
    shown = await preview_of(magazine, table)
    await create(magazine, "posts", "One")
    sea = (await entries(magazine, "sea", kind="topics"))["sea"]
    await update(magazine, sea, slug="ocean")
    head = await magazine.recorder.head()
    with pytest.raises(PreviewOutdated) as raised:
        await run_import(ImportRun(magazine, table, request, OPERATOR), shown)
    changed = raised.value
    assert [(each.number, each.before, each.after) for each in changed.differences] == [
        (2, "new", "skipped"),
        (3, "new", "error"),
    ]
    assert changed.differences[0].why == "an entry with the slug 'one' has been created since"
    assert "About names no entry" in changed.differences[1].why
    assert await magazine.recorder.head() == head
    await update(magazine, sea, slug="sea")
    agreed = await preview_of(magazine, table)
    report = await run_import(ImportRun(magazine, table, request, OPERATOR), agreed)
    assert (report.counts.new, report.counts.skipped) == (2, 1)


async def test_a_row_whose_slug_another_row_takes_since_the_preview_names_that_row(
    magazine: Repository,
) -> None:
    table = table_of("Title,Slug,Body,About\nOne,one,x,sea\nTwo,one,x,ada\n")
    request = await request_for(magazine, table, ready_only=True, repeats="skip")
    sea = (await entries(magazine, "sea", kind="topics"))["sea"]
    await update(magazine, sea, slug="ocean")
    without = await preview_of(magazine, table, ready_only=True, repeats="skip")
    await update(magazine, sea, slug="sea")
    with pytest.raises(PreviewOutdated) as raised:
        await run_import(ImportRun(magazine, table, request, OPERATOR), without)
    changed = raised.value
    assert [(one.number, one.before, one.after, one.why) for one in changed.differences] == [
        (2, "error", "new", "no longer has errors"),
        (3, "new", "skipped", "repeats the slug of row 2"),
    ]
    back = await preview_of(magazine, table, ready_only=True, repeats="skip")
    assert differences(back, without)[1].why == "no longer repeats the slug of row 2"


async def test_an_update_does_not_overwrite_later_changes_by_others(
    magazine: Repository,
) -> None:
    await imported(magazine, FILE)
    table = table_of(FILE.replace("x,1", "y,1"))
    request = await request_for(magazine, table, "i-2", update=True)
    shown = await preview_of(magazine, table, import_id="i-2", update=True)
    one = (await entries(magazine, "one"))["one"]
    await update(magazine, one, fields=raw(cover='"hero"'))
    assert (await preview_of(magazine, table, import_id="i-2", update=True)).digest == shown.digest
    await update(magazine, one, fields=raw(body='"z"'))
    with pytest.raises(PreviewOutdated) as raised:
        await run_import(ImportRun(magazine, table, request, OPERATOR), shown)
    changed = raised.value
    assert changed.differences[0].why == "the entry, or what the row refers to, has changed"
    await update(magazine, one, slug="moved")
    with pytest.raises(PreviewOutdated) as raised:
        await run_import(ImportRun(magazine, table, request, OPERATOR), shown)
    changed = raised.value
    assert changed.differences[0].why == "no entry has the slug 'one' any more"


def raw(**fields: str) -> dict[str, Any]:
    return {slug: Raw(value.encode()) for slug, value in fields.items()}


async def test_changes_between_check_and_append_are_checked_again(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(magazine, FILE)
    one = (await entries(magazine, "one"))["one"]
    races = [1]

    async def racing(*args: Any) -> DryRun:
        checked = await check(*args)
        if races:
            races.pop()
            await update(magazine, one, title="Changed", fields=raw(cover='"hero"'))
            await create(magazine, "posts", "Three")
        return checked

    monkeypatch.setattr("write_side.imports.importer.check", racing)
    report = await imported(
        magazine, FILE.replace("x,1", "y,1") + "Three,x,3\n", "i-2", update=True
    )
    assert (report.counts.new, report.counts.update, report.counts.unchanged) == (0, 2, 1)
    after = (await entries(magazine, "one"))["one"]
    assert (after.title, values(after)["cover"]) == ("One", '"hero"')


@pytest.mark.parametrize("is_shown", [True, False])
async def test_an_import_sent_twice_at_once_has_one_report(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch, is_shown: bool
) -> None:
    table = table_of(FILE)
    request = await request_for(magazine, table)
    shown = await preview_of(magazine, table) if is_shown else None
    races = [1]

    async def racing(*args: Any) -> DryRun:
        if races:
            races.pop()
            await run_import(ImportRun(magazine, table, request, OPERATOR), shown)
        return await check(*args)

    monkeypatch.setattr("write_side.imports.importer.check", racing)
    report = await run_import(ImportRun(magazine, table, request, OPERATOR), shown)
    assert (report.counts.new, report.replayed) == (2, True)


async def test_a_small_append_does_not_wait_for_a_waiting_import(
    magazine: Repository, database_url: str
) -> None:
    author = await magazine.content_type(SCOPE, "posts")
    claim = """INSERT INTO write_side.entry_claim
        (id, workspace, environment, content_type_id, language, slug_hash)
        VALUES (gen_random_uuid(), 'acme', 'production', $1::uuid, 'en-US', $2)"""
    async with holding(database_url, claim, author.id, slug_hash("two")) as hold:
        importing_it = asyncio.create_task(imported(magazine, FILE))
        await hold.until_blocked()
        await create(magazine, "posts", "Meanwhile")
        assert not importing_it.done()
        await hold.release()
        assert (await importing_it).counts.new == 2


async def test_the_event_loop_serves_other_tasks_while_rows_are_checked(
    magazine: Repository,
) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    table = table_of("Title,Body,Views\n" + "".join(f"R {n},x,{n}\n" for n in range(2000)))
    request = await request_for(magazine, table)
    counting = asyncio.create_task(count())
    await check(magazine, table, request)
    counting.cancel()
    assert turns > 10


async def test_lost_staged_events_are_staged_again(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    """After a crash of PostgreSQL, the unlogged table is empty."""
    copy, losses = appender.staged, [1]
    async with connected(database_url) as other:

        @asynccontextmanager
        async def losing(*args: Any) -> Any:
            async with copy(*args) as batch:
                if losses:
                    losses.pop()
                    await other.execute("TRUNCATE write_side.staged_event")
                yield batch

        monkeypatch.setattr("write_side.store.appender.staged", losing)
        assert (await imported(magazine, FILE)).counts.new == 2
    assert not losses
    await check_store(magazine)


async def test_events_that_a_dead_process_staged_are_deleted(
    magazine: Repository, database_url: str
) -> None:
    put = """INSERT INTO write_side.staged_event
        SELECT gen_random_uuid(), 1, 'x', 1, 't', '{}', now() - make_interval(mins => age)
        FROM (VALUES (10), (70)) AS ages(age)"""
    async with connected(database_url) as connection:
        await connection.execute(put)
    await delete_leftovers(magazine.recorder)
    assert await staged(magazine) == 1
