"""A revert takes back an import by events, for entries that have not changed since."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    SCOPE,
    create,
    entries,
    imported,
    values,
)
from tests.integration.write_side.sample_commands import check_store
from write_side.commands import DeleteEntry, UpdateEntry
from write_side.dispatch import execute
from write_side.domain.entry import Entry
from write_side.domain.events import Translation
from write_side.domain.identity import Actor, Scope, entry_stream
from write_side.domain.refusals import UnknownEntry, UnknownImport
from write_side.imports.report import RevertReport, import_report, revert_import
from write_side.repository import Repository

BOB = Actor("key", "018f0000-0000-7000-8000-00000000000c", "bob")
FILE = "Title,Status,Body,Views\nOne,published,x,1\nTwo,draft,x,2\nThree,draft,x,3\n"


async def revert(repository: Repository, import_id: str = "i-1") -> RevertReport:
    return await revert_import(repository, SCOPE, import_id, OPERATOR, "r-9")


async def update(repository: Repository, entry: Entry, **properties: Any) -> None:
    await execute(UpdateEntry(actor=BOB, scope=SCOPE, entry_id=entry.id, **properties), repository)


async def used(repository: Repository) -> int:
    rows = await repository.recorder.fetch(
        "SELECT used FROM write_side.usage WHERE workspace = 'acme' AND environment = "
        "'production' AND quota = 'entries'"
    )
    return int(rows[0]["used"])


async def test_created_entries_are_deleted_and_free_slug_and_quota(magazine: Repository) -> None:
    before = await used(magazine)
    report = await imported(magazine, FILE)
    reverted = await revert(magazine)
    assert [each.slug for each in reverted.deleted] == ["one", "two", "three"]
    assert (reverted.restored, reverted.changed_since, reverted.gone) == ((), (), ())
    assert reverted.position == report.position + 4 == await magazine.recorder.head()
    assert await used(magazine) == before
    entry_id = report.rows[0].entry_id
    assert entry_id is not None
    with pytest.raises(UnknownEntry):
        await magazine.entry(SCOPE, entry_id)
    rows = await magazine.recorder.select_events(entry_stream(entry_id))
    gone = magazine.mapper.event_of(rows[-1])
    assert (gone.actor, gone.request_id) == (OPERATOR, "r-9")
    assert (await imported(magazine, FILE, "i-2")).counts.new == 3
    await check_store(magazine)


async def test_updated_entries_are_restored_and_keep_translations(magazine: Repository) -> None:
    await imported(magazine, FILE)
    one, two = (await entries(magazine, "one", "two")).values()
    french = {"fr-FR": Translation("Un", {})}
    await update(magazine, one, translations=french, fields={"cover": Raw(b'"hero"')})
    changes = "Title,Slug,Status,Body,Views,Cover\nUno,one,draft,y,,\nTwo,,published,y,2,\n"
    await imported(magazine, changes, "i-2", update=True)
    reverted = await revert(magazine, "i-2")
    assert [each.slug for each in reverted.restored] == ["one", "two"]
    after_one, after_two = (await entries(magazine, "one", "two")).values()
    assert values(after_one) == {"body": '"x"', "views": "1", "cover": '"hero"'}
    assert (after_one.title, after_one.status) == ("One", "published")
    assert after_one.translations == french
    assert (values(after_two), after_two.status) == (values(two), "draft")
    # Each import is reverted on its own, so the entries of the first one are as it left them.
    assert {each.slug for each in (await revert(magazine)).deleted} == {"two", "three"}
    await check_store(magazine)


async def test_entries_changed_or_deleted_since_are_kept_and_listed(
    magazine: Repository,
) -> None:
    await imported(magazine, FILE)
    one, two, three = (await entries(magazine, "one", "two", "three")).values()
    await update(magazine, one, title="Mine")
    await execute(DeleteEntry(actor=BOB, scope=SCOPE, entry_id=two.id), magazine)
    await update(magazine, three, title="Another")
    await update(magazine, three, title="Three")
    reverted = await revert(magazine)
    assert [(each.entry_id, each.slug, each.by) for each in reverted.changed_since] == [
        (one.id, "one", "bob")
    ]
    assert [(each.entry_id, each.by) for each in reverted.gone] == [(two.id, "bob")]
    assert [each.entry_id for each in reverted.deleted] == [three.id]
    assert reverted.changed_since[0].at > one.updated_at
    assert (await entries(magazine, "one"))["one"].title == "Mine"
    await check_store(magazine)


async def test_a_second_revert_does_nothing(magazine: Repository) -> None:
    await imported(magazine, FILE)
    first = await revert(magazine)
    head = await magazine.recorder.head()
    await create(magazine, "posts", "One")
    again = await revert_import(magazine, SCOPE, "i-1", BOB)
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.deleted, again.at, again.by) == (first.deleted, first.at, "operator ann")
    assert await magazine.recorder.head() == head + 1
    report = await import_report(magazine, SCOPE, "i-1")
    assert report.reverted is not None
    assert report.reverted.deleted == first.deleted
    # The import was executed, and its id stays used.
    assert (await imported(magazine, FILE)).replayed


async def test_references_to_deleted_entries_are_unchanged(magazine: Repository) -> None:
    await imported(magazine, FILE)
    await imported(magazine, "Title,Body,Related\nOther,x,one\n", "i-2")
    one = (await entries(magazine, "one"))["one"]
    await revert(magazine)
    other = (await entries(magazine, "other"))["other"]
    assert values(other)["related"] == f'["{one.id}"]'


@pytest.mark.parametrize("reverted", [False, True])
async def test_an_import_of_another_scope_is_unknown(
    magazine: Repository, *, reverted: bool
) -> None:
    await imported(magazine, FILE)
    if reverted:
        await revert(magazine)
    for scope in (Scope("acme", "staging"), Scope("rival", "production")):
        for ask in (import_report(magazine, scope, "i-1"), _revert(magazine, scope)):
            with pytest.raises(UnknownImport, match="There is no import 'i-1'"):
                await ask
    with pytest.raises(UnknownImport):
        await revert(magazine, "i-2")


async def _revert(repository: Repository, scope: Scope) -> RevertReport:
    return await revert_import(repository, scope, "i-1", BOB)


async def test_two_thousand_rows_are_reverted(magazine: Repository) -> None:
    rows = "".join(f"Row {n},x\n" for n in range(2000))
    await imported(magazine, f"Title,Body\n{rows}")
    assert len((await revert(magazine)).deleted) == 2000
    await check_store(magazine)
