"""A workspace with content types of every kind, and files to import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from write_side.commands import CreateEntry
from write_side.dispatch import execute
from write_side.domain.entry import Entry
from write_side.domain.events import EntryCreated
from write_side.domain.identity import Actor, Scope
from write_side.imports.check import check
from write_side.imports.columns import match_headings
from write_side.imports.csv_reader import csv_table
from write_side.imports.importer import ImportRun, run_import
from write_side.imports.preview import Preview
from write_side.imports.report import Report
from write_side.imports.request import ImportRequest
from write_side.imports.table import Table
from write_side.manifest.diff import diff
from write_side.manifest.loader import read_manifest
from write_side.manifest.steps import apply_steps
from write_side.repository import Repository

OPERATOR = Actor("operator", "ann")
SCOPE = Scope("acme", "production")
MANIFEST = """
workspace: acme
name: Acme
plan: {entries: 2500, staging: true}
environments: [production, staging]
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


async def set_up(repository: Repository, manifest: str = MANIFEST) -> Repository:
    wanted = read_manifest(manifest.encode(), "acme.yaml")
    async for _ in apply_steps(await diff(wanted, repository, OPERATOR), repository):
        pass
    return repository


async def magazine(repository: Repository) -> Repository:
    await set_up(repository)
    for kind, title in [("authors", "Ada"), ("topics", "Sea")]:
        await create(repository, kind, title)
    return repository


async def create(repository: Repository, kind: str, title: str, **properties: Any) -> EntryCreated:
    made = {
        "actor": OPERATOR,
        "scope": SCOPE,
        "content_type_slug": kind,
        "title": title,
        **properties,
    }
    created = (await execute(CreateEntry(**made), repository)).events[0].event
    assert isinstance(created, EntryCreated)
    return created


def table_of(text: str, name: str = "posts.csv") -> Table:
    return csv_table(text.encode(), name)


async def request_for(
    repository: Repository,
    table: Table,
    import_id: str = "i-1",
    *,
    kind: str = "posts",
    scope: Scope = SCOPE,
    **options: Any,
) -> ImportRequest:
    """An import whose columns are mapped by their headings."""
    fields = (await repository.fresh_content_type(scope, kind)).value_fields
    targets = match_headings(table.headings, fields, {})
    return ImportRequest(scope, kind, import_id, targets, **options)


async def preview_of(repository: Repository, text: str | Table, **options: Any) -> Preview:
    table = table_of(text) if isinstance(text, str) else text
    return (await check(repository, table, await request_for(repository, table, **options))).preview


async def imported(
    repository: Repository, text: str | Table, import_id: str = "i-1", **options: Any
) -> Report:
    table = table_of(text) if isinstance(text, str) else text
    request = await request_for(repository, table, import_id, **options)
    return await run_import(ImportRun(repository, table, request, OPERATOR))


async def entries(repository: Repository, *slugs: str, kind: str = "posts") -> dict[str, Entry]:
    """The entries in the order of their slugs."""
    found = await repository.entries_by_slug(SCOPE, [kind], "en-US", slugs)
    ids = {slug: found[slug][0] for slug in slugs if slug in found}
    return {slug: await repository.entry(SCOPE, each) for slug, each in ids.items()}


def states(shown: Preview) -> list[str]:
    return [row.state for row in shown.rows]


def errors(shown: Preview) -> list[tuple[int, str, str]]:
    """Row, heading, cell and reason of each error."""
    return [
        (row.number, note.heading, f"{note.cell!r} {note.reason}" if note.cell else note.reason)
        for row in shown.rows
        for note in row.notes
        if note.severity == "error"
    ]


def warnings(shown: Preview) -> list[tuple[int, str, str, str]]:
    """Row, heading, cell and reason of each warning."""
    return [
        (row.number, note.heading, note.cell, note.reason)
        for row in shown.rows
        for note in row.notes
        if note.severity == "warning"
    ]


def values(entry: Entry) -> dict[str, str]:
    return {slug: bytes(value).decode() for slug, value in entry.fields.items()}


def numbered(shown: Sequence[Any]) -> list[int]:
    return [row.number for row in shown]
