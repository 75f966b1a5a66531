"""Files into the log: one unit, once for an import id, and what is in the way."""

from __future__ import annotations

import msgspec
import pytest

from write_side.applying.compare import steps_to
from write_side.applying.steps import carry_out
from write_side.commands import CreateEntry
from write_side.dispatch import Executed, execute
from write_side.domain.entry import Entry
from write_side.domain.events import EntryCreated, ImportRecorded
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import ImportIdTaken, PlanLimitReached, UnknownContentType
from write_side.imports.files import Row, Table, csv_table
from write_side.imports.prepare import Prepared, Wish, prepare
from write_side.manifest import read_manifest
from write_side.repository import Repository

OPERATOR = Actor("operator", "ann")
SCOPE = Scope("acme", "production")
MANIFEST = """
workspace: acme
name: Acme
plan: {entries: 2500}
media: [{id: hero, url: "https://cdn.example.com/hero.png", name: h, contentType: image/png}]
contentTypes:
  - {slug: authors, name: Authors}
  - {slug: topics, name: Topics}
  - slug: posts
    name: Posts
    fields:
      - {slug: body, name: Body, type: text, required: true}
      - {slug: views, name: Views, type: number}
      - {slug: author, name: Author, type: reference, to: [authors]}
      - {slug: about, name: About, type: reference, to: [authors, topics], multiple: true}
      - {slug: related, name: Related, type: reference, to: [posts], multiple: true}
      - {slug: cover, name: Cover, type: media}
      - slug: parts
        name: Parts
        type: repeater
        fields:
          - {slug: by, name: By, type: reference, to: [authors]}
          - {slug: image, name: Image, type: media}
"""
POSTS = """Title,Slug,Status,Body,Views,Author,About,Related,Cover
One,,published,First,"1,200",ada,"ada, sea","two",hero
Two,,Draft,Second,,,,"one, two",https://cdn.example.com/hero.png
Three,third,archived,Last,7,,,,
"""


@pytest.fixture
async def magazine(repository: Repository) -> Repository:
    manifest = read_manifest(MANIFEST.encode(), "acme.yaml")
    async for _ in carry_out(await steps_to(manifest, repository, OPERATOR), repository):
        pass
    for kind, title in [("authors", "Ada"), ("topics", "Sea")]:
        await create(repository, kind, title)
    return repository


async def create(repository: Repository, kind: str, title: str) -> EntryCreated:
    command = CreateEntry(actor=OPERATOR, scope=SCOPE, content_type_slug=kind, title=title)
    created = (await execute(command, repository)).events[0].event
    assert isinstance(created, EntryCreated)
    return created


def wish(import_id: str = "i-1") -> Wish:
    return Wish(SCOPE, "posts", import_id, "ann")


async def prepared(repository: Repository, text: str, import_id: str = "i-1") -> Prepared:
    return await prepare(csv_table(text.encode(), "posts.csv"), wish(import_id), repository)


async def imported(repository: Repository, text: str, import_id: str = "i-1") -> Executed:
    ready = await prepared(repository, text, import_id)
    assert ready.problems == ()
    assert ready.command is not None
    return await execute(ready.command, repository)


async def problems(repository: Repository, text: str) -> list[tuple[int, str, str]]:
    ready = await prepared(repository, text)
    assert ready.command is None
    return [(one.row, one.column, one.reason) for one in ready.problems]


async def entries(repository: Repository, *slugs: str) -> dict[str, Entry]:
    found = await repository.entries_by_slug(SCOPE, ["posts"], "en-US", slugs)
    return {slug: await repository.entry(SCOPE, one[0][0]) for slug, one in found.items()}


async def test_rows_become_entries_that_refer_to_one_another(magazine: Repository) -> None:
    executed = await imported(magazine, POSTS)
    found = await entries(magazine, "one", "two", "third")
    one, two, third = found["one"], found["two"], found["third"]
    assert [one.status, two.status, third.status] == ["published", "draft", "archived"]
    values = {slug: bytes(value).decode() for slug, value in one.fields.items()}
    ada = (await magazine.entries_by_slug(SCOPE, ["authors"], "en-US", ["ada"]))["ada"][0][0]
    sea = (await magazine.entries_by_slug(SCOPE, ["topics"], "en-US", ["sea"]))["sea"][0][0]
    assert values == {
        "body": '"First"',
        "views": "1200",
        "author": f'"{ada}"',
        "about": f'["{ada}","{sea}"]',
        "related": f'["{two.id}"]',
        "cover": '"hero"',
    }
    assert bytes(two.fields["related"]) == f'["{one.id}","{two.id}"]'.encode()
    assert bytes(two.fields["cover"]) == b'"hero"'
    recorded = executed.events[0].event
    assert isinstance(recorded, ImportRecorded)
    assert (recorded.created, recorded.skipped, recorded.file_name) == (3, 0, "posts.csv")
    assert recorded.actor == Actor("import", "i-1", "ann")


async def test_rows_whose_slug_exists_are_skipped(magazine: Repository) -> None:
    await imported(magazine, POSTS)
    more = "Title,Body\nONE,again\nFour,new\nfour,repeated\n"
    ready = await prepared(magazine, more, "i-2")
    assert ready.command is not None
    assert [entry.title for entry in ready.command.entries] == ["Four"]
    assert (ready.skipped, ready.command.skipped) == (2, 2)


async def test_nothing_left_to_import_is_no_command(magazine: Repository) -> None:
    await imported(magazine, POSTS)
    assert await prepared(magazine, POSTS, "i-2") == Prepared(None, (), 3)


async def test_the_same_import_id_has_no_effect_the_second_time(magazine: Repository) -> None:
    first = await prepared(magazine, POSTS)
    again = await prepared(magazine, POSTS)
    assert first.command is not None
    assert again.command is not None
    await execute(first.command, magazine)
    head = await magazine.recorder.head()
    assert (await execute(again.command, magazine)).replayed
    later = await imported(magazine, POSTS)
    assert later.replayed
    assert await magazine.recorder.head() == head


async def test_the_import_id_of_another_import_is_refused(magazine: Repository) -> None:
    await imported(magazine, POSTS)
    ready = await prepare(
        csv_table(b"Title\nMoon\n", "x.csv"), Wish(SCOPE, "topics", "i-1"), magazine
    )
    assert ready.command is not None
    with pytest.raises(ImportIdTaken):
        await execute(ready.command, magazine)


async def test_every_bad_cell_is_named_and_nothing_is_imported(magazine: Repository) -> None:
    head = await magazine.recorder.head()
    bad = (
        "Title,Status,Body,Views,Author,About,Related,Cover\n"
        ",,x,,,,,\n"
        "Fine,,x,1,ada,,,\n"
        'Two,,x,many,sea,"ada, moon",gone,nowhere\n'
        "Three,published,,,,,,\n"
    )
    assert await problems(magazine, bad) == [
        (2, "Title", "is blank"),
        (4, "Views", "'many' takes a number, such as 1234.5 or 1,234.5"),
        (
            4,
            "Author",
            "'sea' names no entry: there is none of type authors with the id or slug 'sea'",
        ),
        (
            4,
            "About",
            "'ada, moon' names no entry: "
            "there is none of type authors or topics with the id or slug 'moon'",
        ),
        (
            4,
            "Related",
            "'gone' names no entry: there is none of type posts with the id or slug 'gone'",
        ),
        (
            4,
            "Cover",
            "'nowhere' names no file: the media library has none with the id or URL 'nowhere'",
        ),
        (5, "Body", "is blank, and a published entry needs it"),
    ]
    assert await magazine.recorder.head() == head


async def test_text_that_cannot_be_stored_is_named_by_its_cell(magazine: Repository) -> None:
    table = Table(
        "posts.xlsx",
        ("Title", "Slug", "Body", "Author", "Parts"),
        (
            Row(2, ("a\x00", "", "x", "", "")),
            Row(3, ("\ud800", "b\x00", "x", "", "")),
            Row(4, ("", "\udfff", "\ud800", "ada\x00", "\udfff")),
        ),
    )
    ready = await prepare(table, wish(), magazine)
    nul = "contains a NUL character (U+0000), which cannot be stored; remove it"
    half = "contains half of a surrogate pair, which is not a character; remove it"
    assert [(one.row, one.column, one.reason) for one in ready.problems] == [
        (2, "Title", f"'a\\x00' {nul}"),
        (3, "Title", f"'\\ud800' {half}"),
        (3, "Slug", f"'b\\x00' {nul}"),
        (4, "Title", "is blank"),
        (4, "Slug", f"'\\udfff' {half}"),
        (4, "Body", f"'\\ud800' {half}"),
        (4, "Author", f"'ada\\x00' {nul}"),
        (4, "Parts", f"'\\udfff' {half}"),
    ]


async def test_what_a_repeater_refers_to_is_named_by_its_cell(magazine: Repository) -> None:
    topic = (await create(magazine, "topics", "Moon")).entry_id
    ada = (await magazine.entries_by_slug(SCOPE, ["authors"], "en-US", ["ada"]))["ada"][0][0]

    def table(*parts: list[dict[str, str]]) -> Table:
        rows = [
            Row(number, (f"Row {number}", "x", msgspec.json.encode(one).decode()))
            for number, one in enumerate(parts, 2)
        ]
        return Table("posts.csv", ("Title", "Body", "Parts"), tuple(rows))

    good = {"by": ada, "image": "hero"}
    bad = [{"by": "ada"}, {"by": topic}, {"image": "https://cdn.example.com/hero.png"}]
    ready = await prepare(table([good], *([good, one] for one in bad)), wish(), magazine)
    places = [(one.row, one.column) for one in ready.problems]
    assert places == [(3, "Parts"), (4, "Parts"), (5, "Parts")]
    reasons = [one.reason for one in ready.problems]
    assert "parts[1].by refers to 'ada', which is the id of no entry" in reasons[0]
    assert f"parts[1].by refers to '{topic}', which is an entry of type topics" in reasons[1]
    assert "parts[1].image refers to 'https://cdn" in reasons[2]
    fine = await prepare(table([good]), wish(), magazine)
    assert fine.command is not None
    await execute(fine.command, magazine)


async def test_references_are_found_by_id_and_ambiguous_slugs_are_not(
    magazine: Repository,
) -> None:
    topic = await create(magazine, "topics", "Ada")
    ambiguous = "Title,Body,About\nOne,x,ada\n"
    assert await problems(magazine, ambiguous) == [
        (2, "About", "'ada' is ambiguous: 2 entries have the slug 'ada', give the id")
    ]
    assert await problems(magazine, f"Title,Body,Author\nOne,x,{topic.entry_id}\n") == [
        (2, "Author", f"'{topic.entry_id}' is an entry of type topics, not authors")
    ]
    await imported(magazine, f"Title,Body,About\nOne,x,{topic.entry_id}\n")
    one = (await entries(magazine, "one"))["one"]
    assert bytes(one.fields["about"]) == f'["{topic.entry_id}"]'.encode()


async def test_the_plans_limit_refuses_the_import_as_a_whole(magazine: Repository) -> None:
    rows = "".join(f"Row {number},x\n" for number in range(1999))
    await imported(magazine, f"Title,Body\n{rows}")
    head = await magazine.recorder.head()
    more = rows.replace("Row", "More")
    with pytest.raises(PlanLimitReached, match="limit of 2500 entries"):
        await imported(magazine, f"Title,Body\n{more}", "i-2")
    assert await magazine.recorder.head() == head


async def test_an_unknown_type_is_refused(magazine: Repository) -> None:
    table = csv_table(b"Title\nx\n", "x.csv")
    with pytest.raises(UnknownContentType):
        await prepare(table, Wish(SCOPE, "songs", "i-1"), magazine)
