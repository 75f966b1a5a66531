"""What an export reads: which entries, in which order, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from read_side import export as module
from read_side.export import LIMIT, Export, ExportRow, TargetRow, export
from read_side.paging import Filters
from read_side.pool import Pool, open_pool
from read_side.refusals import TypeNotFound
from tests.integration.bulk_rows import fill
from tests.integration.live_projector import project_all
from tests.integration.projector.rebuilds import rebuild
from tests.integration.projector.sample_log import BODY, LEAD, ContentBuilder, raws
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.identity import Scope

POSTS = Filters("posts", language="en-US")
FRENCH = "fr-FR"


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url) as pool:
        yield pool


async def exported(pool: Pool, filters: Filters = POSTS) -> Export:
    return await export(pool, Scope("acme", "production"), filters)


async def rows_of(wanted: Export) -> list[ExportRow]:
    return [row async for page in wanted.pages() for row in page]


@pytest.fixture
async def magazine(builder: ContentBuilder, database_url: str) -> ContentBuilder:
    await builder.magazine()
    await builder.content_type(slug="authors")
    await builder.entry("one", status="published")
    await builder.entry("two")
    await builder.entry("deux", language="fr-FR")
    await builder.entry("three", status="archived")
    await builder.entry("ann", type_slug="authors")
    await builder.entry("100%_done", status="published")
    await builder.translate(await builder.entry("four"), "fr-FR", title="Quatre")
    await project_all(database_url, database_url)
    return builder


FILTERS = [
    (Filters("posts"), ["four", "100%_done", "three", "deux", "two", "one"]),
    (Filters("posts", language="en-US"), ["four", "100%_done", "three", "two", "one"]),
    (Filters("posts", language=""), []),
    (Filters("posts", status="published"), ["100%_done", "one"]),
    (Filters("posts", status="draft"), ["four", "deux", "two"]),
    (Filters("posts", status="archived"), ["three"]),
    (Filters("posts", language="fr-FR"), ["deux"]),
    (Filters("posts", language="xx"), []),
    (Filters("authors"), ["ann"]),
    (Filters("posts", search="T"), ["three", "two"]),
    (Filters("posts", search="%_"), []),
    (Filters("posts", search="\\"), []),
    (Filters("posts", search="quatre"), []),
    (Filters("posts", search="quatre", locale="fr-FR"), ["four"]),
    (Filters("posts", search="t", locale="fr-FR"), ["three", "two"]),
    (Filters("posts", status="published", search="O"), ["one"]),
]


async def test_matching_entries_are_exported_newest_first(
    magazine: ContentBuilder, pool: Pool
) -> None:
    for filters, expected in FILTERS:
        wanted = await exported(pool, filters)
        found = [row.slug for row in await rows_of(wanted)]
        assert found == expected, filters
        assert (wanted.total, wanted.written) == (len(found), len(found)), filters
    for workspace, environment, type_slug in [
        ("acme", "production", "nothing"),
        ("acme", "staging", "posts"),
        ("other", "production", "posts"),
    ]:
        with pytest.raises(TypeNotFound):
            await export(pool, Scope(workspace, environment), Filters(type_slug))


async def test_texts_are_original_even_if_translated(
    magazine: ContentBuilder, pool: Pool, database_url: str
) -> None:
    await magazine.entry(
        "five",
        fields=raws(body="Body"),
        translations={"fr-FR": Translation("Cinq", raws(body="Corps"))},
    )
    await project_all(database_url, database_url)
    row = (await rows_of(await exported(pool)))[0]
    assert (row.title, msgspec.json.decode(row.values["body"])) == ("Five", "Body")


async def test_values_are_the_stored_ones_of_current_fields(
    builder: ContentBuilder, pool: Pool, database_url: str
) -> None:
    """Removed fields are hidden, also in repeaters. Stored values are not rendered."""
    await builder.workspace()
    parts = Field("parts", "Parts", "repeater", fields=(BODY, LEAD))
    await builder.content_type(BODY, LEAD, parts)
    values = raws(body="b", lead="l", parts=[{"body": "x", "lead": "y"}])
    await builder.entry("one", fields=values)
    await builder.revise_type(BODY, Field("parts", "Parts", "repeater", fields=(BODY,)))
    await project_all(database_url, database_url)
    [row] = await rows_of(await exported(pool))
    assert {slug: bytes(value) for slug, value in row.values.items()} == {
        "body": b'"b"',
        "parts": b'[{"body":"x"}]',
    }


async def test_only_the_newest_5000_are_exported(
    magazine: ContentBuilder, pool: Pool, database_url: str
) -> None:
    """Entries of the same millisecond, also at the ends of pages, are neither repeated nor
    skipped."""
    await fill(database_url, LIMIT + 7)
    wanted = await exported(pool)
    found = [row.slug for row in await rows_of(wanted)]
    assert wanted.total == LIMIT + 7 + 5
    assert (await exported(pool, Filters("posts"))).total == LIMIT + 7 + 6
    assert found == [f"entry-{number}" for number in range(1, LIMIT + 1)]


async def test_large_entries_make_short_pages(
    magazine: ContentBuilder, pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page ends with the entry that exceeds its bytes, and the next page asks for fewer
    entries."""
    monkeypatch.setattr(module, "PAGE_BYTES", 100_000)
    await fill(database_url, 30, stored=f'{{"body": "{"x" * 40_000}"}}')
    pages = [len(page) async for page in (await exported(pool)).pages()]
    assert pages[:-1] == [3] * (len(pages) - 1)
    assert sum(pages) == 35


async def test_an_export_continues_over_a_switch(
    magazine: ContentBuilder, pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export holds no lock that the switch would wait for, and continues in the new tables."""
    monkeypatch.setattr(module, "PAGE", 2)
    wanted = await exported(pool)
    pages = wanted.pages()
    found = [row.slug for row in await anext(pages)]
    await rebuild(database_url)
    await magazine.entry("newer")
    await project_all(database_url, database_url)
    found += [row.slug async for page in pages for row in page]
    assert found == ["four", "100%_done", "three", "two", "one"]


LANGUAGES: list[tuple[Filters, tuple[str, ...]]] = [
    (Filters("posts"), ("en-US", FRENCH)),
    (Filters("posts", status="draft"), ("en-US", FRENCH)),
    (Filters("posts", status="published"), ("en-US",)),
    (Filters("posts", search="D"), ("en-US", FRENCH)),
    (Filters("posts", search="Deux"), (FRENCH,)),
    (Filters("posts", search="nothing"), ()),
    (Filters("authors", status="archived"), ()),
    (Filters("posts", language=FRENCH), (FRENCH,)),
    (Filters("posts", language="de-DE", search="nothing"), ("de-DE",)),
]


async def test_the_languages_are_those_of_the_matches(magazine: ContentBuilder, pool: Pool) -> None:
    for filters, languages in LANGUAGES:
        wanted = await exported(pool, filters)
        rows = await rows_of(wanted)
        assert wanted.languages == languages, filters
        assert wanted.total == len(rows)
        assert {row.language for row in rows} <= set(languages)


@pytest.mark.parametrize("search", ["", "o"])
async def test_entries_of_a_later_language_are_not_exported(
    search: str, magazine: ContentBuilder, pool: Pool, database_url: str
) -> None:
    """The file was begun without a Language column, so such entries would be ambiguous."""
    wanted = await exported(pool, Filters("posts", status="published", search=search))
    assert wanted.languages == ("en-US",)
    await magazine.entry("sechs", language="de-DE", status="published")
    await magazine.entry("seven", status="published")
    await project_all(database_url, database_url)
    assert "sechs" not in [row.slug for row in await rows_of(wanted)]


async def test_targets_list_types_with_the_same_slug(
    magazine: ContentBuilder, pool: Pool, database_url: str
) -> None:
    ann = await magazine.entry("ann")
    author = await magazine.entry("bob", type_slug="authors")
    french = await magazine.entry("ann", type_slug="authors", language="fr-FR")
    gone = await magazine.entry("gone")
    await magazine.delete(gone)
    await project_all(database_url, database_url)
    wanted = await exported(pool)
    ids = [ann, author, french, gone]
    assert await wanted.targets(ids, []) == {
        ann: TargetRow("ann", "posts", "en-US", ("authors", "posts")),
        author: TargetRow("bob", "authors", "en-US", ("authors",)),
    }
    assert await wanted.targets(ids, ["posts"]) == {
        ann: TargetRow("ann", "posts", "en-US", ("posts",)),
        author: TargetRow("bob", "authors", "en-US", ()),
    }
    assert await wanted.targets([], []) == {}
    of_both = await exported(pool, Filters("posts"))
    assert await of_both.targets([ann, french, gone], []) == {
        ann: TargetRow("ann", "posts", "en-US", ("authors", "posts")),
        french: TargetRow("ann", "authors", FRENCH, ("authors",)),
    }
