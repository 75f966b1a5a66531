"""A file imported in several parts: references between parts, crashes, and the revert of all
parts."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw, json

from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    SCOPE,
    entries,
    imported,
    request_for,
    table_of,
    values,
)
from write_side.commands import CreateContentType, UpdateEntry
from write_side.dispatch import execute
from write_side.domain.definition import Field
from write_side.domain.events import EntryCreated, EntryUpdated, ImportRecorded
from write_side.domain.refusals import FileMismatch, ImportIdTaken, UnknownImport
from write_side.imports import split
from write_side.imports.check import check
from write_side.imports.importer import ImportRun, RepeatsUndecided, RowsRefused
from write_side.imports.report import revert_import
from write_side.imports.split import ImportStopped, Outcome, Progress, SplitReport, run_split
from write_side.imports.split_parts import revert_split
from write_side.imports.table import fingerprint_of
from write_side.repository import Repository

HEAD = "Title,Body,Related\n"
CYCLE = HEAD + 'A,x,"b, e"\nB,x,c\nC,x,a\nD,x,\nE,x,a\n'
"""In parts of two rows, A, B and C refer to later parts, C and E to earlier ones."""


class Killed(Exception):
    """The process is killed."""


async def split_of(
    repository: Repository,
    text: str = CYCLE,
    import_id: str = "s-1",
    progress: Progress = lambda *_: None,
    **options: Any,
) -> SplitReport:
    table = table_of(text)
    request = await request_for(repository, table, import_id, **options)
    return await run_split(ImportRun(repository, table, request, OPERATOR), progress, part_rows=2)


def dying(after: int) -> Progress:
    def progress(done: int, _parts: int, _outcome: Outcome) -> None:
        if done == after:
            raise Killed

    return progress


async def related(repository: Repository) -> dict[str, list[str]]:
    """Slug → slugs to which its entry refers. Every target exists."""
    found = await entries(repository, *"abcde")
    slugs = {f'"{entry.id}"': slug for slug, entry in found.items()}
    return {
        slug: [
            slugs[each]
            for each in values(entry).get("related", "[]").strip("[]").split(",")
            if each
        ]
        for slug, entry in found.items()
    }


async def imports_of(repository: Repository) -> list[list[EntryCreated | EntryUpdated]]:
    """The events of the entries of each import, in the order of the log."""
    found: list[list[EntryCreated | EntryUpdated]] = [[]]
    for row in await repository.recorder.log(0, 1000):
        event: Any = repository.mapper.decode(row["topic"], row["state"], row["at"])
        if isinstance(event, ImportRecorded):
            found.append([])
        elif isinstance(event, EntryCreated | EntryUpdated):
            found[-1].append(event)
    return found


WHOLE = {"a": ["b", "e"], "b": ["c"], "c": ["a"], "d": [], "e": ["a"]}


async def test_references_between_parts_work_in_both_directions(magazine: Repository) -> None:
    reported: list[tuple[int, int, Outcome]] = []
    report = await split_of(magazine, progress=lambda *now: reported.append(now))
    assert reported == [(1, 3, "imported"), (2, 3, "imported"), (3, 3, "imported")]
    assert (report.preview.counts.new, report.replayed, len(report.import_ids)) == (5, False, 4)
    assert await related(magazine) == WHOLE


async def test_references_point_to_existing_entries_at_every_position(
    magazine: Repository,
) -> None:
    for after in (1, 2, 3):
        with pytest.raises(Killed):
            await split_of(magazine, progress=dying(after))
        assert all(
            target in WHOLE for found in (await related(magazine)).values() for target in found
        )
    await split_of(magazine)
    made: set[str] = set()
    for appended in await imports_of(magazine):
        made |= {event.entry_id for event in appended if isinstance(event, EntryCreated)}
        for event in appended:
            referred = json.decode(event.fields.get("related", b"null"), type=list[str] | None)
            assert set(referred or ()) <= made


@pytest.mark.parametrize("after", [1, 2, 3])
async def test_a_crash_after_any_part_is_resumed_and_nothing_is_imported_twice(
    magazine: Repository, after: int
) -> None:
    with pytest.raises(Killed):
        await split_of(magazine, progress=dying(after))
    outcomes: list[Outcome] = []
    report = await split_of(magazine, progress=lambda *now: outcomes.append(now[2]))
    assert outcomes == ["already imported"] * after + ["imported"] * (3 - after)
    other = await split_of(magazine, import_id="s-2", progress=lambda *now: outcomes.append(now[2]))
    assert (outcomes[3:], other.import_ids) == (["nothing to import"] * 3, ())
    assert (report.preview.counts.new, report.replayed) == (5, False)
    assert await related(magazine) == WHOLE
    before = await magazine.recorder.head()
    again = await split_of(magazine)
    assert (again.replayed, again.position) == (True, report.position)
    assert await magazine.recorder.head() == before
    created = [entry.version for entry in (await entries(magazine, *"abcde")).values()]
    assert created == [2, 2, 1, 1, 1], "references to later parts are one more event"


async def test_all_parts_are_reverted_together_even_if_the_import_is_unfinished(
    magazine: Repository,
) -> None:
    await split_of(magazine)
    reverted = await revert_split(magazine, SCOPE, "s-1", OPERATOR)
    assert sorted(each.slug for each in reverted.deleted) == list("abcde")
    assert (reverted.restored, reverted.changed_since, reverted.replayed) == ((), (), False)
    assert await entries(magazine, *"abcde") == {}
    assert (await revert_split(magazine, SCOPE, "s-1", OPERATOR)).replayed
    with pytest.raises(ImportStopped, match="was reverted"):
        await split_of(magazine)
    with pytest.raises(Killed):
        await split_of(magazine, import_id="s-2", progress=dying(2))
    reverted = await revert_split(magazine, SCOPE, "s-2", OPERATOR)
    assert sorted(each.slug for each in reverted.deleted) == list("abcd")
    with pytest.raises(UnknownImport):
        await revert_split(magazine, SCOPE, "s-9", OPERATOR)


async def test_nothing_is_imported_if_a_row_of_any_part_has_errors(
    magazine: Repository,
) -> None:
    before = await magazine.recorder.head()
    with pytest.raises(RowsRefused):
        await split_of(magazine, CYCLE + "F,x,gone\n")
    assert await magazine.recorder.head() == before
    report = await split_of(magazine, CYCLE + "F,x,gone\n", ready_only=True)
    assert (report.preview.counts.new, report.preview.counts.error) == (5, 1)


async def test_errors_that_arose_after_the_first_part_stop_the_import(
    magazine: Repository,
) -> None:
    await imported(magazine, HEAD + "G,x,\n")
    with pytest.raises(Killed):
        await split_of(magazine, CYCLE + "F,x,g\n", progress=dying(1))
    await revert_import(magazine, SCOPE, "i-1", OPERATOR)
    with pytest.raises(ImportStopped, match=r"^1 row has errors, and other parts "):
        await split_of(magazine, CYCLE + "F,x,g\n")


async def test_rows_of_later_parts_update_entries_of_earlier_parts(magazine: Repository) -> None:
    text = HEAD + "A,x,d\nB,x,\nC,x,\nA,y,c\nD,x,\nA,z,\n"
    with pytest.raises(Killed):
        await split_of(magazine, text, repeats="update", progress=dying(2))
    await split_of(magazine, text, repeats="update")
    one = (await entries(magazine, "a"))["a"]
    assert (values(one)["body"], values(one)["related"]) == ('"z"', "null")


async def test_suffixes_of_repeats_are_the_same_when_it_is_resumed(magazine: Repository) -> None:
    text = HEAD + "A,x,a-3\nA,y,\nA,z,\nB,x,a-2\n"
    with pytest.raises(RepeatsUndecided):
        await split_of(magazine, text)
    with pytest.raises(Killed):
        await split_of(magazine, text, repeats="suffix", progress=dying(1))
    await split_of(magazine, text, repeats="suffix")
    found = await entries(magazine, "a", "a-2", "a-3", "a-4", "b")
    assert list(found) == ["a", "a-2", "a-3", "b"]
    assert values(found["a"])["related"] == f'["{found["a-3"].id}"]'
    assert [values(found[slug])["body"] for slug in ("a", "a-2", "a-3")] == ['"x"', '"y"', '"z"']


async def test_an_entry_that_needs_a_later_one_is_published_with_it(magazine: Repository) -> None:
    fields = (
        Field("body", "Body", "text"),
        Field("lead", "Lead story", "reference", required=True, to=("columns",)),
    )
    await execute(
        CreateContentType(actor=OPERATOR, scope=SCOPE, slug="columns", name="C", fields=fields),
        magazine,
    )
    text = "Title,Status,Body,Lead story\nA,published,x,c\nB,draft,x,\nC,draft,x,\n"
    report = await split_of(magazine, text, kind="columns")
    assert report.preview.counts.new == 3
    found = await entries(magazine, "a", "c", kind="columns")
    assert (found["a"].status, values(found["a"])["lead"]) == ("published", f'"{found["c"].id}"')


async def test_an_entry_that_was_changed_in_the_meantime_is_not_touched(
    magazine: Repository,
) -> None:
    with pytest.raises(Killed):
        await split_of(magazine, progress=dying(3))
    found = await entries(magazine, "b", "d")
    mine = {"related": Raw(json.encode([found["d"].id]))}
    entry_id = found["b"].id
    await execute(
        UpdateEntry(actor=OPERATOR, scope=SCOPE, entry_id=entry_id, fields=mine), magazine
    )
    report = await split_of(magazine)
    assert [row.slug for row in report.changed_since] == ["b"]
    assert await related(magazine) == {**WHOLE, "b": ["d"]}


async def test_another_file_or_a_plain_import_under_the_id_is_refused(
    magazine: Repository,
) -> None:
    await split_of(magazine)
    with pytest.raises(FileMismatch):
        await split_of(magazine, HEAD + "Z,x,\n")
    await imported(magazine, HEAD + "Q,x,\n", "i-7")
    with pytest.raises(ImportStopped, match="'i-7' was used for an import that was not split"):
        await split_of(magazine, import_id="i-7")


async def test_parts_of_another_content_type_are_not_continued(magazine: Repository) -> None:
    text = "Title\nA\nB\nC\n"
    with pytest.raises(Killed):
        await split_of(magazine, text, kind="authors", progress=dying(1))
    before = await magazine.recorder.head()
    with pytest.raises(ImportIdTaken, match="'s-1' was used for a different import"):
        await split_of(magazine, text, kind="topics")
    assert await magazine.recorder.head() == before


@pytest.mark.parametrize(
    "other",
    [
        {"language": "fr-FR"},
        {"update": True},
        {"repeats": "skip"},
        {"key": 1},
        {"status": "published"},
        {"decimal_comma": True},
        {"day_first": True},
    ],
)
async def test_parts_are_not_continued_with_other_options(
    magazine: Repository, other: dict[str, Any]
) -> None:
    with pytest.raises(Killed):
        await split_of(magazine, progress=dying(1))
    before = await magazine.recorder.head()
    with pytest.raises(ImportStopped, match="'s-1' was started with different options"):
        await split_of(magazine, **other)
    assert await magazine.recorder.head() == before
    await split_of(magazine, ready_only=True)
    assert await related(magazine) == WHOLE


async def test_parts_of_an_earlier_version_are_not_continued_in_another_language(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It recorded no options."""
    with monkeypatch.context() as patched:
        patched.setattr(split, "split_fingerprint", lambda table, _request: fingerprint_of(table))
        with pytest.raises(Killed):
            await split_of(magazine, progress=dying(1))
    with pytest.raises(ImportStopped, match="'s-1' was started with different options"):
        await split_of(magazine, language="fr-FR")
    await split_of(magazine)
    assert await related(magazine) == WHOLE


async def test_an_import_of_ready_rows_is_refused_if_none_is_ready(magazine: Repository) -> None:
    for text in (HEAD + "A,x,gone\n", HEAD + "A,x,b\nB,x,gone\n"):
        with pytest.raises(RowsRefused):
            await split_of(magazine, text, ready_only=True)
    some = HEAD + "A,x,gone\nB,x,\n"
    await split_of(magazine, some, ready_only=True)
    assert (await split_of(magazine, some, ready_only=True)).replayed


async def test_an_import_that_others_overtake_is_checked_again(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = 0

    async def overtaken(repository: Repository, *args: Any, **options: Any) -> Any:
        nonlocal checks
        checks += 1
        found = await check(repository, *args, **options)
        if checks == 1:
            await imported(repository, HEAD + "E,mine,\n", "other")
        return found

    monkeypatch.setattr(split, "check", overtaken)
    report = await split_of(magazine)
    assert (checks, report.preview.counts.skipped) == (2, 1)
    assert (await related(magazine))["a"] == ["b", "e"]
    assert values((await entries(magazine, "e"))["e"])["body"] == '"mine"'
