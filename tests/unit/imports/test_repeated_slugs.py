"""Rows with equal slugs: which of them need a choice, and which suffixes they get."""

from __future__ import annotations

from tests.conformance.import_previews import FIELDS, SCOPE, previewed
from write_side.domain.identity import MAX_SLUG
from write_side.imports.check import suffixed, with_suffix
from write_side.imports.columns import columns_of, match_headings
from write_side.imports.csv_reader import csv_table
from write_side.imports.preview import repeated
from write_side.imports.request import EntryKey, ImportRequest
from write_side.imports.rows import parsed_rows


async def slugs(text: str, *in_store: str) -> list[str]:
    questions: list[set[EntryKey]] = []

    async def existing(keys: set[EntryKey]) -> set[EntryKey]:
        questions.append(keys)
        assert len(questions) < 15, "each asks for twice as many"
        return keys & {("en-US", slug) for slug in in_store}

    table = csv_table(text.encode(), "x.csv")
    targets = match_headings(table.headings, FIELDS, {})
    request = ImportRequest(SCOPE, "posts", "i-1", targets)
    rows = parsed_rows(table, columns_of(table.headings, targets, FIELDS), request)
    return [row.slug for row in await suffixed(list(rows), existing)]


async def test_suffixes_are_free_in_the_file_and_in_the_store() -> None:
    file = "Title,Body\nRome,a\nRome,b\nRome,c\nRome 3,d\n"
    assert await slugs(file) == ["rome", "rome-2", "rome-4", "rome-3"]
    assert await slugs(file, "rome-2", "rome-4") == ["rome", "rome-5", "rome-6", "rome-3"]
    many = [f"rome-{n}" for n in range(2, 2_000)]
    file = "Title,Body\nRome,a\nRome,b\nRome 2000,c\n"
    assert await slugs(file, *many) == ["rome", "rome-2001", "rome-2000"]


async def test_a_given_slug_is_kept_and_equal_rows_get_no_suffix() -> None:
    file = "Title,Slug,Body\nRome,,a\nThe city,rome,b\nRome,,a\nRome,,c\n"
    assert await slugs(file) == ["rome-2", "rome", "rome-2", "rome-3"]


async def test_a_suffix_fits_into_the_longest_slug() -> None:
    long = "r" * (MAX_SLUG + 10)
    found = await slugs(f"Title,Body\n{long},a\n{long}x,b\n")
    assert [len(slug) for slug in found] == [MAX_SLUG, MAX_SLUG]
    assert found[1].endswith("r-2")
    assert with_suffix(("en-US", "rome"), 12) == ("en-US", "rome-12")


async def test_suffixes_are_separate_for_each_language() -> None:
    file = "Title,Language,Body\nRome,en-US,a\nRome,fr-FR,a\nRome,fr-FR,b\nRome,en-US,c\n"
    assert await slugs(file) == ["rome", "rome", "rome-2", "rome-2"]
    assert await slugs(file, "rome-2") == ["rome", "rome", "rome-2", "rome-3"]


async def test_given_slugs_that_repeat_get_no_suffix() -> None:
    found = await previewed("Title,Slug,Body\nA,s,a\nB,s,b\nB,s,b\n", repeats="suffix")
    assert found.states == ["new", "error", "skipped"]
    assert found.notes[0][1:] == ("Slug", "'s' is the slug of row 2: choose another one")


async def test_rows_that_differ_are_counted_separately() -> None:
    found = await previewed("Title,Body\nA,x\nA,x\nA,y\nB,x\nB,x\n")
    assert [row.repeats for row in found.rows] == [None, 2, 2, None, 5]
    assert [row.differs for row in found.rows] == [False, False, True, False, False]
    assert repeated(found.rows) == 3


async def test_a_choice_for_repeats_is_independent_of_existing_slugs() -> None:
    file = "Title,Body\nA,x\nA,y\n"
    assert (await previewed(file, repeats="update")).states == ["new", "update"]
    assert (await previewed(file, repeats="skip", update=True)).states == ["new", "skipped"]


async def test_slugs_are_derived_from_the_key_if_there_is_one() -> None:
    found = await previewed("Title,Body,Views\nA,x,7\nA,x,8\nA,x,\n", key=2)
    assert [row.slug for row in found.rows] == ["7", "8", ""]
    assert ("error", "Views", "is blank, and slugs are derived from it") in found.notes
