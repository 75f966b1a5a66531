"""A preview is exact because it uses the functions that the handlers call."""

from __future__ import annotations

import asyncio
import gc

import pytest

from tests.conformance.import_previews import ADA, FIELDS, entry, previewed
from write_side import waiting
from write_side.domain.definition import Field, Option
from write_side.domain.entry import Entry
from write_side.domain.refusals import InvalidEntry
from write_side.domain.values import MAX_ITEMS, TOO_MANY_ITEMS
from write_side.handlers import checks
from write_side.imports import preview
from write_side.imports.preview import Omitted, omitted_notes
from write_side.imports.report import recorded_row
from write_side.imports.rows import ParsedRow


def refuse(*entries: Entry | None) -> None:
    after = entries[-1]
    assert after is not None
    if after.title == "Bad":
        raise InvalidEntry("The entry is refused")


@pytest.mark.parametrize("check", ["check_size", "_check_texts"])
async def test_the_preview_notes_what_the_handlers_refuse(
    monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    monkeypatch.setattr(checks, check, refuse)
    shown = await previewed(
        "Title,Slug,Body\nBad,,x\nGood,,x\nBad,old,x\n", entry("old", body='"y"'), update=True
    )
    assert shown.states == ["error", "new", "error"]
    assert shown.notes == [("error", "", "The entry is refused")] * 2


async def test_a_row_has_all_its_refusals_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "check_size", refuse)
    shown = await previewed("Title,Status,Body,Views\nBad,published,,many\n")
    assert shown.notes == [
        ("error", "Views", "takes a number, such as 1234.5 or 1,234.5"),
        ("error", "", "The entry is refused"),
        ("error", "Body", "is blank, and a published entry needs it"),
    ]


async def test_a_repeater_without_a_required_value_has_one_note_that_names_the_first() -> None:
    faq = Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text", required=True),))
    one, many = '[{""q"":""x""},{}]', "[{},{},{}]"
    shown = await previewed(
        f'Title,Status,FAQ\nA,published,"{one}"\nB,draft,"{many}"\n', fields=(faq,)
    )
    assert shown.notes == [
        ("error", "FAQ", "faq[1].q is blank, and a published entry needs it"),
        (
            "warning",
            "FAQ",
            "faq[0].q is blank, and the entry cannot be published without it; 2 more are blank",
        ),
    ]
    assert [note.cell for row in shown.rows for note in row.notes] == ['[{"q":"x"},{}]', many]


async def test_a_draft_that_stays_the_same_has_no_warning_of_a_missing_value() -> None:
    text = "Title,Body,Views\nOne,,\nTwo,,1\n"
    shown = await previewed(text, entry("one"), entry("two"), update=True)
    assert shown.states == ["unchanged", "update"]
    assert [[note.severity for note in row.notes] for row in shown.rows] == [[], ["warning"]]


async def test_members_that_a_repeater_does_not_have_are_named() -> None:
    faq = Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"), Field("a", "A", "text")))
    typos, none = '[{""Q"":""x""},{""q"":""x"",""Q"":1,""no"":2}]', '[{""a"":""x""}]'
    shown = await previewed(f'Title,FAQ\nA,"{typos}"\nB,"{none}"\nC,null\n', fields=(faq,))
    assert shown.states == ["new", "new", "new"]
    reason = "has unknown members, which are not imported: 'Q', 'no'; known are: q, a"
    assert shown.notes == [("warning", "FAQ", reason)]


async def test_members_that_a_repeater_inside_another_does_not_have_are_named() -> None:
    links = Field("links", "Links", "repeater", fields=(Field("url", "URL", "text"),))
    faq = Field("faq", "FAQ", "repeater", fields=(links,))
    shown = await previewed('Title,FAQ\nA,"[{""links"":[{""URL"":""x""}]}]"\n', fields=(faq,))
    reason = "has unknown members, which are not imported: 'links.URL'; known are: links"
    assert shown.notes == [("warning", "FAQ", reason)]


@pytest.mark.parametrize("stored", ["null", "[]"])
async def test_a_repeater_without_elements_stays_the_same(stored: str) -> None:
    faq = Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"),))
    for cell in ("[]", ""):
        text = f"Title,Slug,FAQ\nOld,old,{cell}\n"
        shown = await previewed(text, entry("old", faq=stored), fields=(faq,), update=True)
        assert shown.states == ["unchanged"]


async def test_a_reference_to_a_row_beyond_the_plans_limit_names_the_limit() -> None:
    """Without the row that refers to it, the last row would fit into the plan."""
    rows = "Title,Related\nA,d\nB,\nC,\nD,\n"
    shown = await previewed(
        rows, fields=(Field("related", "Related", "reference"),), entries_left=3, ready_only=True
    )
    assert shown.states == ["error", "new", "new", "new"]
    why = "refers to the row with the slug 'd', which exceeds the plan's limit of entries"
    assert shown.notes == [("error", "Related", why)]


async def test_beyond_the_limit_each_row_keeps_its_first_note_and_counts_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file may have a million notes."""
    fields = tuple(Field(name, name.upper(), "number") for name in ("a", "b", "c"))
    text = "Title,A,B,C\nOne,x,x,x\nTwo,x,x,x\nThree,x,x,y\nFour,1,2,3\n"
    complete = await previewed(text, fields=fields)
    monkeypatch.setattr(preview, "MOST_NOTES", 4)
    shown = await previewed(text, fields=fields)
    assert [len(row.notes) for row in complete.rows] == [3, 3, 3, 0]
    assert [row.notes for row in shown.rows] == [
        row.notes[:kept] for row, kept in zip(complete.rows, (3, 1, 1, 0), strict=True)
    ]
    omitted = [row.omitted for row in shown.rows]
    assert omitted == [None, Omitted(errors=2), Omitted(errors=2), None]
    assert (omitted_notes(shown.rows), omitted_notes(complete.rows)) == (Omitted(errors=4), None)
    assert shown.states == complete.states == ["error", "error", "error", "new"]
    assert [row.digest for row in shown.rows] == [row.digest for row in complete.rows]
    reason = "B takes a number, such as 1234.5 or 1,234.5"
    assert recorded_row(complete.rows[1]).note.split("; ")[1] == reason
    assert recorded_row(shown.rows[1]).note == f"{reason.replace('B', 'A')}; 2 more"


async def test_warnings_leave_room_for_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "MOST_NOTES", 1)
    shown = await previewed("Title,Status,Body,Views\nOne,x,,1\nTwo,x,,many\n")
    assert [[note.severity for note in row.notes] for row in shown.rows] == [
        ["warning"],
        ["warning", "error"],
    ]
    assert [row.omitted for row in shown.rows] == [Omitted(warnings=1)] * 2


async def test_other_tasks_run_between_references_to_rows_with_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There may be millions of references: each of 1,000 rows may refer to all others."""
    monkeypatch.setattr(waiting, "SLICE", 0)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    related = Field("related", "Related", "reference", multiple=True)
    all_slugs = ",".join(f"s{n}" for n in range(20))
    rows = "".join(f'T,s{n},1,"{all_slugs}"\n' for n in range(1, 20))
    counting = asyncio.create_task(count_turns())
    text = f"Title,Slug,Views,Related\nT,s0,x,\n{rows}"
    shown = await previewed(text, fields=(FIELDS[1], related), ready_only=True)
    counting.cancel()
    assert shown.states == ["error"] * 20
    references = 19 * 20
    assert len(shown.notes) == 1 + references
    assert turns > references


async def test_an_invalid_title_is_noted_only_at_its_cell() -> None:
    shown = await previewed("Title,Body\n \t,x\na\x01b,x\n")
    assert shown.states == ["error", "new"]
    assert shown.notes == [("error", "Title", "is blank")]


async def test_a_slug_that_no_new_entry_can_have_is_noted_at_its_cell() -> None:
    long = "x" * 501
    text = f"Title,Slug,Body\nOne,..,x\nTwo,{long},x\nOld,.,y\n"
    shown = await previewed(text, entry("."), update=True)
    assert shown.states == ["error", "error", "update"]
    assert [(note.column, str(note)) for row in shown.rows for note in row.notes] == [
        (1, "Slug '..' cannot be part of a URL; choose another one"),
        (1, "Slug has 501 characters; the limit is 500"),
    ]


async def test_white_space_around_a_slug_is_a_warning() -> None:
    """Such a slug looks like that of an existing entry, but is another one."""
    text = "Title,Slug,Body\nOld,old ,x\nOld,\u00a0old,x\nOld,old,x\n"
    shown = await previewed(text, entry("old"), update=True)
    assert shown.states == ["new", "new", "update"]
    reason = "begins or ends with white space, which is kept: delete it if it is not meant"
    assert shown.notes == [("warning", "Slug", reason)] * 2


async def test_a_ready_row_has_the_command_that_creates_its_entry() -> None:
    shown = await previewed("Title,Body\nOne,x\n")
    command, after = shown.decisions[0].command, shown.after()
    assert command is not None
    assert (command.entry_id, command.title) == (after.id, after.title)


async def test_equal_rows_are_not_compared_with_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contents = 0

    def content(row: ParsedRow) -> tuple[str, ...]:
        nonlocal contents
        contents += 1
        return row.title, row.slug

    monkeypatch.setattr(ParsedRow, "content", property(content))
    shown = await previewed("Title,Body\n" + "Same,x\n" * 50)
    assert shown.states == ["new", *["skipped"] * 49]
    assert {row.repeats for row in shown.rows[1:]} == {2}
    assert contents <= 3 * 50


@pytest.mark.parametrize(("heading", "name"), [("Related", ADA), ("Tags", "unknown")])
async def test_too_many_values_are_an_error_of_their_cell(heading: str, name: str) -> None:
    fields = (
        Field("related", "Related", "reference", multiple=True),
        Field("tags", "Tags", "select", multiple=True, options=(Option("news", "News"),)),
    )
    many = ",".join([name] * (MAX_ITEMS + 1))
    shown = await previewed(f'Title,{heading}\nOne,"{many}"\nTwo,\n', fields=fields)
    assert shown.states == ["error", "new"]
    assert shown.notes == [("error", heading, f"takes {TOO_MANY_ITEMS}")]


async def test_the_garbage_collector_does_not_visit_the_cells_of_a_file() -> None:
    shown = await previewed("Title,Body\nOne,x\n")
    assert not gc.is_tracked(shown.decisions[0].row.cells[0])
