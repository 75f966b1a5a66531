"""Imports of files: all or nothing, once for each import id, and what prevents them."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    POSTS,
    SCOPE,
    create,
    entries,
    errors,
    imported,
    preview_of,
    set_up,
    table_of,
    values,
)
from write_side import repository, waiting
from write_side.commands import PutMedia, RemoveMedia
from write_side.dispatch import execute
from write_side.domain.events import ImportRecorded
from write_side.domain.identity import Actor, import_stream
from write_side.domain.refusals import UnknownContentType
from write_side.handlers.imports import _Decisions
from write_side.imports import dry_run
from write_side.imports.check import check
from write_side.imports.references import NamedTargets
from write_side.imports.request import ImportRequest
from write_side.imports.table import Row, Table
from write_side.repository import Repository


async def recorded(repository: Repository, import_id: str) -> ImportRecorded:
    found = await repository.find_import(import_id)
    assert found is not None
    return found[0]


async def test_rows_become_entries_that_refer_to_one_another(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "LOOKED_UP", 1)
    report = await imported(magazine, POSTS)
    found = await entries(magazine, "one", "two", "third")
    one, two, third = found["one"], found["two"], found["third"]
    assert [one.status, two.status, third.status] == ["published", "draft", "archived"]
    ada = (await magazine.entries_by_slug(SCOPE, ["authors"], "en-US", ["ada"]))["ada"][0]
    sea = (await magazine.entries_by_slug(SCOPE, ["topics"], "en-US", ["sea"]))["sea"][0]
    assert values(one) == {
        "body": '"First"',
        "views": "1200",
        "author": f'"{ada}"',
        "about": f'["{ada}","{sea}"]',
        "related": f'["{two.id}"]',
        "cover": '"hero"',
    }
    assert bytes(two.fields["related"]) == f'["{one.id}","{two.id}"]'.encode()
    assert bytes(two.fields["cover"]) == b'"hero"'
    made = await recorded(magazine, "i-1")
    assert (made.created, made.skipped, made.file_name) == (3, 0, "posts.csv")
    assert (made.actor, made.by) == (Actor("import", "i-1", "posts.csv"), OPERATOR)
    assert one.id == report.rows[0].entry_id


async def test_nothing_left_to_import_appends_nothing(magazine: Repository) -> None:
    await imported(magazine, POSTS)
    head = await magazine.recorder.head()
    report = await imported(magazine, POSTS, "i-2")
    assert (report.counts.new, report.counts.skipped, report.position) == (0, 3, 0)
    assert await magazine.recorder.head() == head
    assert await magazine.recorder.select_events(import_stream("i-2")) == []


async def test_only_the_files_that_a_cell_names_are_loaded(magazine: Repository) -> None:
    async def put(media_id: str, url: str, workspace: str = "acme") -> None:
        about: dict[str, Any] = {"url": url, "name": "n", "content_type": "image/png"}
        place: dict[str, Any] = {"workspace": workspace, "media_id": media_id}
        await execute(PutMedia(actor=OPERATOR, **place, **about), magazine)

    await set_up(magazine, "workspace: rival\nname: Rival\n")
    for media_id, url in [("two", "/2"), ("three", "/3"), ("three", "/2"), ("four", "/4")]:
        await put(media_id, url)
    await put("theirs", "/2", "rival")
    await put("gone", "/2")
    await execute(RemoveMedia(actor=OPERATOR, workspace="acme", media_id="gone"), magazine)
    for names, ids in [
        (["two"], ["two"]),
        (["/2", "a\x00"], ["three", "two"]),
        (["hero", "gone", "theirs", "/4", "other"], ["four", "hero"]),
        ([], []),
    ]:
        assert [file.id for file in await magazine.media_named("acme", names)] == ids


async def test_text_that_cannot_be_stored_is_named_by_its_cell(magazine: Repository) -> None:
    table = Table(
        "posts.xlsx",
        ("Title", "Slug", "Body", "Author", "Parts"),
        (
            Row(2, ("a\x00", "", "x", "", "")),
            Row(3, ("b", "b\x00", "x", "", "")),
            Row(4, ("", "c", "\x00", "ada\x00", '["\x00"]')),
        ),
    )
    nul = "contains a NUL character (U+0000), which cannot be stored; remove it"
    assert errors(await preview_of(magazine, table)) == [
        (2, "Title", f"'a\\x00' {nul}"),
        (3, "Slug", f"'b\\x00' {nul}"),
        (4, "Title", "is blank"),
        (4, "Body", f"'\\x00' {nul}"),
        (4, "Author", f"'ada\\x00' {nul}"),
        (4, "Parts", f"'[\"\\x00\"]' {nul}"),
    ]


async def test_an_invalid_reference_in_a_repeater_is_named_by_its_cell(
    magazine: Repository,
) -> None:
    topic = (await create(magazine, "topics", "Moon")).entry_id
    ada = (await magazine.entries_by_slug(SCOPE, ["authors"], "en-US", ["ada"]))["ada"][0]

    def table(*parts: list[dict[str, str]]) -> Table:
        rows = [
            Row(number, (f"Row {number}", "x", msgspec.json.encode(one).decode()))
            for number, one in enumerate(parts, 2)
        ]
        return Table("posts.csv", ("Title", "Body", "Parts"), tuple(rows))

    good = {"by": ada, "image": "hero"}
    bad = [{"by": "ada"}, {"by": topic}, {"image": "https://cdn.example.com/hero.png"}]
    found = errors(await preview_of(magazine, table([good], *([good, one] for one in bad))))
    assert [each[:2] for each in found] == [(3, "Parts"), (4, "Parts"), (5, "Parts")]
    reasons = [reason for _, _, reason in found]
    assert "parts[1].by refers to 'ada', which is not in this environment" in reasons[0]
    assert reasons[0].endswith(": a repeater takes ids, not slugs")
    assert "ids, not slugs" not in "".join(reasons[1:])
    assert (
        f"parts[1].by refers to '{topic}', an entry of type topics, but takes authors" in reasons[1]
    )
    assert "parts[1].image refers to 'https://cdn" in reasons[2]
    [(*_, reason)] = errors(await preview_of(magazine, table([good, *bad])))
    assert reason.endswith(
        "a repeater takes ids, not slugs; also wrong: parts[2].by, parts[3].image"
    )
    assert (await imported(magazine, table([good]))).counts.new == 1


async def test_an_unknown_type_is_refused(magazine: Repository) -> None:
    request = ImportRequest(SCOPE, "songs", "i-1", ("Title",))
    with pytest.raises(UnknownContentType):
        await check(magazine, table_of("Title\nx\n"), request)


async def test_a_large_row_is_read_and_decided_in_a_thread(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have 100,000 references, and as many elements of repeaters."""
    monkeypatch.setattr(waiting, "PARTS", 2)
    steps = [(NamedTargets, "collect"), (dry_run._Round, "_bounded"), (_Decisions, "decide")]
    in_thread: list[tuple[str, bool]] = []

    def watch(kind: type, name: str) -> None:
        work = getattr(kind, name)

        def watched(*args: Any) -> Any:
            is_elsewhere = threading.current_thread() is not threading.main_thread()
            in_thread.append((name, is_elsewhere))
            return work(*args)

        monkeypatch.setattr(kind, name, watched)

    for kind, name in steps:
        watch(kind, name)
    report = await imported(magazine, 'Title,Body,Related\nOne,x,"two,two,two,two"\nTwo,y,one\n')
    assert report.counts.new == 2
    assert in_thread == [(name, large) for _, name in steps for large in (True, False)]
    in_thread.clear()
    # A small row may update a large entry.
    await imported(magazine, "Title,Body\nOne,new\nTwo,new\n", "i-2", update=True)
    assert in_thread == [
        ("collect", False),
        ("collect", False),
        *((name, large) for _, name in steps[1:] for large in (True, False)),
    ]
