"""A preview is exact because it is decided by the functions that the handlers call."""

from __future__ import annotations

import pytest

from tests.conformance.sheets import ADA, entry, seen
from write_side.domain.definition import Field, Option
from write_side.domain.entry import Entry
from write_side.domain.refusals import InvalidEntry
from write_side.domain.values import MAX_ITEMS, TOO_MANY_ITEMS
from write_side.handlers import checks
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
    shown = await seen(
        "Title,Slug,Body\nBad,,x\nGood,,x\nBad,old,x\n", entry("old", body='"y"'), update=True
    )
    assert shown.states == ["error", "new", "error"]
    assert shown.said == [("error", "", "The entry is refused")] * 2


async def test_a_row_has_all_its_refusals_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "check_size", refuse)
    shown = await seen("Title,Status,Body,Views\nBad,published,,many\n")
    assert shown.said == [
        ("error", "Views", "takes a number, such as 1234.5 or 1,234.5"),
        ("error", "", "The entry is refused"),
        ("error", "Body", "is blank, and a published entry needs it"),
    ]


async def test_a_repeater_without_a_required_value_has_one_note_that_names_the_first() -> None:
    faq = Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text", required=True),))
    one, many = '[{""q"":""x""},{}]', "[{},{},{}]"
    shown = await seen(f'Title,Status,FAQ\nA,published,"{one}"\nB,draft,"{many}"\n', fields=(faq,))
    assert shown.said == [
        ("error", "FAQ", "faq[1].q is blank, and a published entry needs it"),
        (
            "warning",
            "FAQ",
            "faq[0].q is blank, and the entry cannot be published without it; 2 more are blank",
        ),
    ]
    assert [note.cell for row in shown.rows for note in row.notes] == ['[{"q":"x"},{}]', many]


async def test_a_reference_to_a_row_beyond_the_plans_limit_names_the_limit() -> None:
    """Without the row that refers to it, the plan has room for the last one."""
    rows = "Title,Related\nA,d\nB,\nC,\nD,\n"
    shown = await seen(
        rows, fields=(Field("related", "Related", "reference"),), room=3, ready_only=True
    )
    assert shown.states == ["error", "new", "new", "new"]
    why = "refers to the row with the slug 'd', which exceeds the plan's limit of entries"
    assert shown.said == [("error", "Related", why)]


async def test_an_invalid_title_is_noted_only_at_its_cell() -> None:
    shown = await seen("Title,Body\n \t,x\na\x01b,x\n")
    assert shown.states == ["error", "new"]
    assert shown.said == [("error", "Title", "is blank")]


async def test_a_ready_row_has_the_command_that_creates_its_entry() -> None:
    shown = await seen("Title,Body\nOne,x\n")
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
    shown = await seen("Title,Body\n" + "Same,x\n" * 50)
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
    shown = await seen(f'Title,{heading}\nOne,"{many}"\nTwo,\n', fields=fields)
    assert shown.states == ["error", "new"]
    assert shown.said == [("error", heading, f"takes {TOO_MANY_ITEMS}")]
