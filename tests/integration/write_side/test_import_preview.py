"""The preview shows row by row what an import would do, before anything is saved (behaviour.md
§4.6)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.write_side import import_fixtures
from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    SCOPE,
    create,
    entries,
    errors,
    imported,
    preview_of,
    set_up,
    states,
    table_of,
    values,
    warnings,
)
from tests.unit.samples import raws
from write_side.commands import UpdateEntry
from write_side.dispatch import execute
from write_side.domain.refusals import InvalidEntry
from write_side.imports import check
from write_side.imports.importer import RepeatsUndecided
from write_side.imports.table import LIMITS, CellError, Row, Table
from write_side.repository import Repository

EVERYTHING = """
workspace: acme
name: Acme
media: [{id: hero, url: "https://cdn.example.com/hero.png", name: h, contentType: image/png}]
contentTypes:
  - {slug: authors, name: Authors}
  - slug: posts
    name: Posts
    workflow: {stages: [{id: writing, name: Writing}, {id: review, name: Review}]}
    fields:
      - {slug: body, name: Body, type: rich_text, required: true}
      - {slug: note, name: Note, type: text}
      - {slug: views, name: Views, type: number}
      - {slug: featured, name: Featured, type: boolean}
      - {slug: live, name: Live, type: datetime}
      - {slug: campaign, name: Campaign, type: datetime, range: true}
      - slug: kind
        name: Kind
        type: select
        options: [{value: news, label: N}, {value: how to, label: H}]
      - slug: tags
        name: Tags
        type: select
        multiple: true
        options: [{value: a, label: A}, {value: b, label: B}]
      - {slug: author, name: Author, type: reference, to: [authors]}
      - {slug: related, name: Related, type: reference, multiple: true}
      - {slug: cover, name: Cover, type: media}
      - {slug: meta, name: Meta, type: json}
      - slug: faq
        name: FAQ
        type: repeater
        fields:
          - {slug: q, name: Q, type: text, required: true}
          - {slug: n, name: N, type: number}
      - {slug: gallery, name: Gallery, type: media, multiple: true}
"""
HEADINGS = (
    "Title,Slug,Status,Body,Note,Views,Featured,Live,Campaign,Kind,Tags,"
    "Author,Related,Cover,Meta,FAQ,Gallery"
)
FULL = (
    'One,one,published,<p>x</p>,text,"1,200.50",yes,2026-01-31,2026-01-31 / 2026-02-28,how to,'
    '"a, b",ada,"one, ada",hero,"{""b"": 1, ""a"": [1.10]}","[{""q"": ""Why?"", ""n"": 1e2}]"'
)


async def update(repository: Repository, entry_id: str, **properties: Any) -> None:
    await execute(
        UpdateEntry(actor=OPERATOR, scope=SCOPE, entry_id=entry_id, **properties), repository
    )


async def test_composed_and_decomposed_slugs_match(magazine: Repository) -> None:
    await create(magazine, "authors", "E\u0301mile")
    await imported(magazine, "Title,Slug,Body\nOne,\u00e9t\u00e9,x\nTwo,o\u0300,x\n")
    rows = ["One,e\u0301te\u0301,x,e\u0301mile,o\u0300", "Two,o\u0300,x,,e\u0301te\u0301"]
    rows += ["Three,u\u0301,x,,", "Four,\u0101,x,,u\u0301", "Five,a\u0304,x,,"]
    file = "\n".join(["Title,Slug,Body,Author,Related", *rows, ""])
    shown = await preview_of(magazine, file, update=True)
    assert [row.slug for row in shown.rows] == [
        "\u00e9t\u00e9",
        "o\u0300",
        "u\u0301",
        "\u0101",
        "\u0101",
    ]
    assert states(shown) == ["update", "update", "new", "new", "update"]
    assert (errors(shown), shown.rows[4].repeats) == ([], 5)


async def test_rows_are_new_update_unchanged_skipped_or_errors(magazine: Repository) -> None:
    await imported(magazine, "Title,Body,Views\nOne,x,1\nTwo,x,2\n")
    head = await magazine.recorder.head()
    file = "Title,Slug,Body,Views\nOne,,x,1.0\nTwo,,x,3\nThree,,x,\n,,x,\nThree!,three,y,7\n"
    off = await preview_of(magazine, file)
    assert states(off) == ["skipped", "skipped", "new", "error", "skipped"]
    on = await preview_of(magazine, file, update=True)
    assert states(on) == ["unchanged", "update", "new", "error", "update"]
    assert [row.changed for row in on.rows] == [(), ("views",), (), (), ("Title", "body", "views")]
    assert [row.slug for row in on.rows] == ["one", "two", "three", "", "three"]
    assert on.rows[2].entry_id is not None
    assert on.rows[2].entry_id == on.rows[4].entry_id
    assert (on.counts.ready, on.counts.error, on.counts.unchanged) == (3, 1, 1)
    assert await magazine.recorder.head() == head


async def test_an_update_changes_mapped_fields_and_clears_blank_ones(
    magazine: Repository,
) -> None:
    await imported(magazine, "Title,Status,Body,Views,Cover\nOne,published,x,1,hero\n")
    before = (await entries(magazine, "one"))["one"]
    report = await imported(magazine, "Title,Slug,Body,Views\nUno,one,y,\n", "i-2", update=True)
    assert (report.counts.update, report.counts.new) == (1, 0)
    after = (await entries(magazine, "one"))["one"]
    assert values(after) == {"body": '"y"', "views": "null", "cover": '"hero"'}
    assert (after.title, after.status, after.version) == ("Uno", "published", 2)
    assert after.published_at == before.published_at
    await imported(magazine, "Title,Body,Status\nOne,y,\n", "i-3", update=True)
    assert (await entries(magazine, "one"))["one"].status == "draft"


async def test_later_rows_of_a_slug_update_the_entry_of_the_first_in_order(
    magazine: Repository,
) -> None:
    file = "Title,Slug,Body,Views\nA,s,one,1\nB,s,two,2\nB,s,two,2\nC,s,two,\n"
    shown = await preview_of(magazine, file, update=True)
    assert states(shown) == ["new", "update", "unchanged", "update"]
    assert [row.repeats for row in shown.rows] == [None, 2, 2, 2]
    with pytest.raises(RepeatsUndecided, match="imported: 3 rows repeat the slug of an earlier"):
        await imported(magazine, file, update=True)
    report = await imported(magazine, file, repeats="update")
    assert (report.counts.new, report.counts.update, report.counts.unchanged) == (1, 2, 1)
    entry = (await entries(magazine, "s"))["s"]
    assert (entry.title, entry.version) == ("C", 3)
    assert values(entry) == {"body": '"two"', "views": "null"}


async def test_rows_refer_to_any_row_of_the_file_and_in_cycles(magazine: Repository) -> None:
    file = 'Title,Body,Related\nOne,x,"two, one"\nTwo,x,"three, one"\nThree,x,two\n'
    await imported(magazine, file)
    found = await entries(magazine, "one", "two", "three")
    ids = {slug: entry.id for slug, entry in found.items()}
    assert values(found["two"])["related"] == f'["{ids["three"]}","{ids["one"]}"]'


async def test_a_reference_to_a_row_with_errors_is_an_error_if_only_ready_rows_are_imported(
    magazine: Repository,
) -> None:
    file = (
        "Title,Slug,Body,Views,Related\n"
        "One,,x,,two\nTwo,,x,,three\nThree,,x,many,\nFour,,x,,four\nThree again,three,x,,\n"
        "Five,,x,,three\n"
    )
    assert states(await preview_of(magazine, file)) == [
        "new",
        "new",
        "error",
        "new",
        "skipped",
        "new",
    ]
    # Of the two rows of one slug, the second is imported where the first is not.
    shown = await preview_of(magazine, file, ready_only=True)
    assert states(shown) == ["new", "new", "error", "new", "new", "new"]
    lonely = file.replace("Three again,three", "Other,other")
    shown = await preview_of(magazine, lonely, ready_only=True)
    assert states(shown) == ["error", "error", "error", "new", "new", "error"]
    assert errors(shown)[0] == (
        2,
        "Related",
        "'two' refers to the row with the slug 'two', which has errors",
    )
    report = await imported(magazine, lonely, ready_only=True)
    assert (report.counts.new, report.counts.error) == (2, 4)
    assert str(report.rows[2].notes[0]) == "Views takes a number, such as 1234.5 or 1,234.5"


@pytest.mark.parametrize("update", [False, True])
async def test_a_reference_to_a_slug_that_a_later_row_may_get_is_imported(
    magazine: Repository, *, update: bool
) -> None:
    file = "Title,Slug,Body,Views,Related\nA,t,x,,x\nB,t,x,,\nC,c,x,,t\nX,x,x,bad,\n"
    shown = await preview_of(magazine, file, ready_only=True, update=update)
    assert states(shown) == ["error", "new", "new", "error"]
    worse = file.replace("B,t,x,,", "B,t,x,bad,")
    shown = await preview_of(magazine, worse, ready_only=True, update=update)
    assert states(shown) == ["error"] * 4
    report = await imported(magazine, file, ready_only=True, update=update)
    assert report.counts.new == 2
    made = await entries(magazine, "t", "c")
    assert values(made["c"])["related"] == f'["{made["t"].id}"]'


async def test_any_chain_of_references_to_a_row_with_errors_is_reported(
    magazine: Repository,
) -> None:
    rows = "".join(f"R{n},x,,r{n + 1}\n" for n in range(500))
    shown = await preview_of(
        magazine, f"Title,Body,Views,Related\n{rows}R500,x,bad,\n", ready_only=True
    )
    assert shown.counts.error == 501


async def test_an_invalid_status_and_any_unpublishing_are_warnings(
    magazine: Repository,
) -> None:
    file = "Title,Status,Body\nOne,PUBLISHED ,x\nTwo,live,x\nThree,,x\n"
    no_status = "is not draft, published or archived"
    assert warnings(await preview_of(magazine, file)) == [
        (3, "Status", "live", f"{no_status}: the row becomes a draft")
    ]
    await imported(magazine, file.replace("live", "published"))
    file = "Title,Status,Body\nOne,live,x\nTwo, ,x\nThree,,x\nOne,,x\n"
    shown = await preview_of(magazine, file, update=True)
    down = "the published entry becomes a draft"
    assert warnings(shown) == [
        (2, "Status", "live", f"{no_status}: {down}"),
        (3, "Status", "", f"is blank: {down}"),
    ]
    assert states(shown) == ["update", "update", "unchanged", "unchanged"]
    file = "Title,Body\nOne,y\n"
    assert warnings(await preview_of(magazine, file, update=True)) == []


async def test_slugs_and_references_have_the_imports_language(magazine: Repository) -> None:
    await imported(magazine, "Title,Body\nOne,x\n")
    french = await preview_of(magazine, "Title,Body,Related\nOne,x,\nTwo,x,one\n", language="fr-FR")
    assert states(french) == ["new", "new"]
    await imported(magazine, "Title,Body\nOne,x\n", "i-2", language="fr-FR")
    found = await magazine.entries_by_slug(SCOPE, ["posts"], "fr-FR", ["one"])
    entry = await magazine.entry(SCOPE, found["one"][0])
    assert entry.language == "fr-FR"
    for refused in ("english", "xx-XX"):
        with pytest.raises(InvalidEntry, match="Unsupported language"):
            await preview_of(magazine, "Title,Body\nOne,x\n", language=refused)


async def test_every_field_type_is_read_and_reading_again_changes_nothing(
    repository: Repository,
) -> None:
    await set_up(repository, EVERYTHING)
    ada = (await create(repository, "authors", "Ada")).entry_id
    file = f"{HEADINGS}\n{FULL}\n"
    assert errors(await preview_of(repository, file)) == []
    await imported(repository, file)
    one = (await entries(repository, "one"))["one"]
    assert values(one) == {
        "body": '"<p>x</p>"',
        "note": '"text"',
        "views": "1200.50",
        "featured": "true",
        "live": '"2026-01-31"',
        "campaign": '{"from":"2026-01-31","to":"2026-02-28"}',
        "kind": '"how to"',
        "tags": '["a","b"]',
        "author": f'"{ada}"',
        "related": f'["{one.id}","{ada}"]',
        "cover": '"hero"',
        "meta": '{"b":1,"a":[1.10]}',
        "faq": '[{"q":"Why?","n":1e2}]',
    }
    assert (one.status, one.stage_id) == ("published", "writing")
    head = await repository.recorder.head()
    for again in (file, file.replace('"1,200.50"', "1200.5").replace("yes", "TRUE")):
        assert states(await preview_of(repository, again, update=True)) == ["unchanged"]
        report = await imported(repository, again, "i-2", update=True)
        assert (report.position, report.counts.unchanged) == (0, 1)
    assert await repository.recorder.head() == head
    blank = f"{HEADINGS}\nOne,one,draft,,,,,,,,,,,,,\n"
    shown = await preview_of(repository, blank, update=True)
    assert shown.rows[0].changed == ("Status", *values(one))
    await imported(repository, blank, "i-3", update=True)
    after = values((await entries(repository, "one"))["one"])
    assert after == dict.fromkeys(values(one), "null")


BAD = [
    ("Body", "#REF!", "has the error #REF!"),
    ("Views", "1.234,5", "takes a number, such as 1234.5 or 1,234.5; choose a decimal comma to"),
    ("Featured", "maybe", "takes true or false, yes or no, 1 or 0, on or off"),
    ("Live", "31.01.2026", "takes an ISO 8601 date or date-time, such as 2026-01-31 or "),
    ("Campaign", "2026-01-31", "takes a range of ISO 8601 dates, from / to, such as 2026-01-31 / "),
    ("Campaign", "a / b", "takes a range of ISO 8601 dates, from / to, such as 2026-01-31 / "),
    ("Kind", "sports", "takes one of: news, how to"),
    ("Tags", "a, c", "takes a list, with commas between the options, of: a, b"),
    ("Author", "bob", "names no entry of type authors with the id or slug 'bob'"),
    ("Related", "ada, x", "names no entry with the id or slug 'x'"),
    ("Related", "x,ada,y,x", "names no entry with the id or slug 'x'; also wrong: 'y'"),
    ("Related", "a, b, c, d, e, f, g, h", "names no entry with the id or slug 'a'; also "),
    (
        "Gallery",
        "https://x/a,b.png",
        "names no media file with the id or URL 'https://x/a'; also wrong: 'b.png'; in a "
        'list, write a URL that contains a comma as a JSON array: ["URL"]',
    ),
    ("Cover", "x.png", "names no media file with the id or URL 'x.png'"),
    ("Meta", "{oops", "takes JSON text: "),
    ("Meta", '{"a": "b"', "takes JSON text: it ends too early; close its strings, arrays and obj"),
    ("FAQ", '{"q": "x"}', "takes an array of objects keyed by its field slugs"),
    ("FAQ", '[{"q": "x", "n": "many"}]', "faq[0].n takes a finite number"),
    ("Title", "", "is blank"),
]


async def test_every_invalid_cell_is_named_with_its_reason(repository: Repository) -> None:
    await set_up(repository, EVERYTHING)
    await create(repository, "authors", "Ada")
    headings = tuple(HEADINGS.split(","))
    rows, cell_errors = [], []
    for number, (heading, cell, reason) in enumerate(BAD, 2):
        cells = dict.fromkeys(headings, "") | {"Title": f"T{number}", heading: cell}
        rows.append(Row(number, tuple(cells.values())))
        if reason.startswith("has the error"):
            cell_errors.append(CellError(number, headings.index(heading), reason))
    table = Table("posts.xlsx", headings, tuple(rows), cell_errors=tuple(cell_errors), epoch=1900)
    shown = await preview_of(repository, table)
    found = [
        (row.number, note) for row in shown.rows for note in row.notes if note.severity == "error"
    ]
    assert [(number, note.heading, note.cell) for number, note in found] == [
        (number, heading, cell) for number, (heading, cell, _) in enumerate(BAD, 2)
    ]
    for (_, note), (_, _, reason) in zip(found, BAD, strict=True):
        assert note.reason.startswith(reason)
        assert note.column == headings.index(note.heading)


async def test_a_row_with_warnings_is_imported(magazine: Repository) -> None:
    rows = (Row(2, ("One", "x")), Row(3, ("Two", "y")))
    reasons = ["The row is hidden", "The row has totals"]
    warnings = tuple(CellError(3, None, reason) for reason in reasons)
    shown = await preview_of(magazine, Table("x.xlsx", ("Title", "Body"), rows, warnings=warnings))
    assert [row.state for row in shown.rows] == ["new", "new"]
    assert [[str(note) for note in row.notes] for row in shown.rows] == [[], reasons]


async def test_references_are_looked_up_in_the_imports_language_and_then_in_all(
    magazine: Repository,
) -> None:
    bob = [await create(magazine, "authors", "Bob", language=each) for each in ("de-DE", "fr-FR")]
    eve = await create(magazine, "authors", "Eve", language="de-DE")
    for slug in ("ada", "bob"):
        await create(magazine, "topics", slug, language="de-DE")
    text = "Title,Body,Author\nOne,x,bob\nTwo,x,eve\n"
    await imported(magazine, text, language="fr-FR")
    made = await magazine.entries_by_slug(SCOPE, ["posts"], "fr-FR", ["one", "two"])
    one, two = [await magazine.entry(SCOPE, made[slug][0]) for slug in ("one", "two")]
    ids = [values(one)["author"], values(two)["author"]]
    assert ids == [f'"{bob[1].entry_id}"', f'"{eve.entry_id}"']
    file = "Title,Body,Related,Language\nSix,x,,de-DE\nSix,x,,fr-FR\nSeven,x,six,en-US\n"
    assert errors(await preview_of(magazine, file)) == [
        (
            *(4, "Related"),
            "'six' is ambiguous: 2 entries have the slug 'six', 2 of them in this file: "
            "import it without this cell, then give the id",
        )
    ]
    several = "Title,Body,Author,About\nThree,x,bob,\nFour,x,,bob\nFive,x,nobody,ada\n"
    shown = await preview_of(magazine, several)
    ambiguous = "is ambiguous: {} entries have the slug 'bob', give the id"
    assert errors(shown) == [
        (2, "Author", f"'bob' {ambiguous.format(2)}"),
        (3, "About", f"'bob' {ambiguous.format(3)}"),
        (
            *(4, "Author"),
            "'nobody' names no entry of type authors with the id or slug 'nobody'",
        ),
    ]


async def test_a_preview_depends_on_the_log_and_the_request(magazine: Repository) -> None:
    file = "Title,Body,Views\nOne,x,1\n"
    requests: list[tuple[str, dict[str, Any]]] = [
        (file, {}),
        (file, {}),
        (file, {"update": True}),
        (file, {"import_id": "other"}),
        (file.replace("1\n", "2\n"), {}),
    ]
    digests = {(await preview_of(magazine, text, **options)).digest for text, options in requests}
    assert len(digests) == 4
    before = (await preview_of(magazine, file)).digest
    await create(magazine, "posts", "Unrelated")
    assert (await preview_of(magazine, file)).digest == before
    await create(magazine, "posts", "One")
    assert (await preview_of(magazine, file)).digest != before


async def test_a_slug_of_white_space_is_kept_with_a_warning(magazine: Repository) -> None:
    shown = await preview_of(magazine, 'Title,Slug,Body\nOne," ",x\n')
    assert (shown.rows[0].slug, shown.rows[0].state) == (" ", "new")
    assert {note.reason for note in shown.rows[0].notes} == {"contains only white space"}


async def test_white_space_around_a_title_is_kept_with_a_warning(magazine: Repository) -> None:
    [row] = (await preview_of(magazine, "Title,Body\nOne ,x\n")).rows
    assert (row.title, row.slug, row.state) == ("One ", "one-", "new")
    reason = "begins or ends with white space, which is kept: delete it if it is not meant"
    assert [(note.cell, note.reason) for note in row.notes] == [("One ", reason)]


async def test_a_failing_first_row_leaves_its_slug_and_quota_to_the_next(
    repository: Repository,
) -> None:
    await set_up(repository, import_fixtures.MANIFEST.replace("entries: 2500", "entries: 1"))
    file = "Title,Slug,Body,Views\nA,s,x,bad\nB,s,x,1\nC,,x,1\n"
    shown = await preview_of(repository, file, ready_only=True)
    assert states(shown) == ["error", "new", "error"]
    assert errors(shown)[-1][2].startswith("Your plan's limit of 1 entry is reached")
    assert (await imported(repository, file, ready_only=True)).counts.new == 1


async def test_all_events_of_an_import_have_its_time(magazine: Repository) -> None:
    report = await imported(magazine, "Title,Status,Body\nOne,published,x\n")
    one = (await entries(magazine, "one"))["one"]
    assert isinstance(one.published_at, datetime)
    assert one.published_at == one.created_at >= report.at


async def test_a_table_without_rows_imports_nothing(magazine: Repository) -> None:
    report = await imported(magazine, table_of("Title,Body\n"))
    assert (report.position, report.rows) == (0, ())


async def test_an_import_holds_a_limited_size_of_updated_entries(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await import_fixtures.magazine(repository)
    for title in ("One", "Two", "Three"):
        await create(repository, "posts", title, fields=raws(body="x" * 1000))
    monkeypatch.setattr(check, "UPDATED_BYTES", 2_500)
    pair = "Title,Body\nOne,a\nTwo,b\n"
    assert states(await preview_of(repository, pair, update=True)) == ["update", "update"]
    with pytest.raises(InvalidEntry, match=r"more than 2,500 bytes: update fewer"):
        await preview_of(repository, pair + "Three,c\n", update=True)
    assert states(await preview_of(repository, pair + "Three,c\n")) == ["skipped"] * 3
    # A file with more rows is imported in parts.
    monkeypatch.setattr(check, "LIMITS", replace(LIMITS, rows=2))
    assert states(await preview_of(repository, pair + "Three,c\n", update=True)) == ["update"] * 3
