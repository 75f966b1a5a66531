"""The demo's files are consistent with one another."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from deploy.demo.magazine import FILES, IMPORTS, KEY, MANIFEST, translations
from write_side.domain.definition import Field
from write_side.domain.identity import BASE_LANGUAGE, Scope, derived_id
from write_side.imports.columns import Column, columns_of, match_headings
from write_side.imports.csv_reader import csv_table
from write_side.imports.request import ImportRequest
from write_side.imports.rows import parsed_rows
from write_side.imports.table import Table

FIELDS = {one.slug: one.desired_fields() for one in MANIFEST.content_types}


def table(content_type: str) -> Table:
    name = f"{content_type}.csv"
    return csv_table((FILES / name).read_bytes(), name)


def test_there_are_forty_entries_in_every_status() -> None:
    request = ImportRequest(Scope("acme", "production"), "posts", "i-1")
    rows = [row for kind in IMPORTS for row in parsed_rows(table(kind), _columns(kind), request)]
    assert len(rows) == 40
    assert {row.status for row in rows} == {"draft", "published", "archived"}


def _columns(kind: str) -> tuple[Column, ...]:
    headings, fields = table(kind).headings, _values(kind)
    return columns_of(headings, match_headings(headings, fields, {}), fields)


def _values(kind: str) -> list[Field]:
    return [field for field in FIELDS[kind] if field.type != "section"]


def test_translations_belong_to_existing_entries() -> None:
    slugs = {(kind, row.cells[1]) for kind in IMPORTS for row in table(kind).rows}
    found = list(translations())
    assert {(one.content_type, one.slug) for one in found} <= slugs
    assert {one.locale for one in found} == {"fr-FR"}
    assert len(found) >= 10


def test_the_manifest_contains_the_images() -> None:
    """The demo needs no other host."""
    assert len(MANIFEST.media) == 3
    for file in MANIFEST.media:
        kind, _, image = file.url.partition(",")
        assert kind == f"data:{file.content_type}"
        assert ElementTree.fromstring(unquote(image)).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314


def test_the_readmes_example_is_of_the_demo() -> None:
    readme = Path(__file__).parents[3].joinpath("README.md").read_text("utf-8")
    slug = "the-tide-clock-on-fore-street"
    assert f'"id": "{derived_id(IMPORTS["articles"], BASE_LANGUAGE, slug)}"' in readme
    assert f'"slug": "{slug}"' in readme
    assert f"Bearer {KEY.secret}" in readme
