"""Previews imports into a magazine in memory."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import Raw, Struct

from write_side.domain import content_type as content_types
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field, Option
from write_side.domain.entry import Entry
from write_side.domain.events import ContentTypeCreated
from write_side.domain.identity import Actor, Scope, new_id
from write_side.imports.check import suffixed
from write_side.imports.columns import columns_of, match_headings
from write_side.imports.csv_reader import csv_table
from write_side.imports.dry_run import EntryQuota, ImportContext, dry_run
from write_side.imports.preview import PreviewRow
from write_side.imports.references import Among, References
from write_side.imports.request import EntryKey, ImportRequest
from write_side.imports.row_decision import RowDecision
from write_side.imports.rows import parsed_rows
from write_side.imports.table import Epoch, Row, Table

SCOPE = Scope("acme", "production")
AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
FIELDS = (
    Field("body", "Body", "text", required=True),
    Field("views", "Views", "number"),
    Field("featured", "Featured", "boolean"),
    Field("live", "Live", "datetime"),
    Field("campaign", "Campaign", "datetime", range=True),
    Field("kind", "Kind", "select", options=(Option("news", "News"), Option("howto", "How-to"))),
    Field("author", "Author", "reference", to=("authors",)),
    Field("related", "Related", "reference", multiple=True),
    Field("cover", "Cover", "media"),
    Field("meta", "Meta", "json"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"),)),
    Field("title", "Title", "text"),
)
ADA, OTHER_ADA, SEA = (f"018f0000-0000-7000-8000-00000000000{n}" for n in (1, 2, 3))
HERO = "https://cdn.example.com/hero.png"


class PreviewResult(Struct):
    rows: list[PreviewRow]
    decisions: list[RowDecision]

    @property
    def states(self) -> list[str]:
        return [row.state for row in self.rows]

    @property
    def notes(self) -> list[tuple[str, str, str]]:
        """The severity, heading and reason of every note."""
        notes = [note for row in self.rows for note in row.notes]
        return [(note.severity, note.heading, note.reason) for note in notes]

    def after(self, row: int = 0) -> Entry:
        entry = self.decisions[row].after
        assert entry is not None
        return entry

    def value(self, field: str, row: int = 0) -> str | None:
        value = self.after(row).fields.get(field)
        return None if value is None else bytes(value).decode()


def posts(fields: tuple[Field, ...] = FIELDS) -> ContentType:
    created = ContentTypeCreated(
        workspace=SCOPE.workspace,
        environment=SCOPE.environment,
        actor=Actor("operator", "ann"),
        at=AT,
        content_type_id=new_id(),
        slug="posts",
        name="Posts",
        fields=fields,
    )
    return content_types.evolve(None, created)


def entry(slug: str, status: Any = "draft", **values: str) -> Entry:
    """An existing entry, with values as JSON."""
    return Entry(
        id=new_id(),
        workspace=SCOPE.workspace,
        environment=SCOPE.environment,
        content_type_id="",
        slug=slug,
        title=slug.title(),
        language="en-US",
        status=status,
        stage_id=None,
        fields={name: Raw(value.encode()) for name, value in values.items()},
        translations={},
        published_at=None,
        created_at=AT,
        updated_at=AT,
        version=1,
    )


async def previewed(
    text: str | Table,
    *existing: Entry,
    fields: tuple[Field, ...] = FIELDS,
    entries_left: int | None = None,
    **options: Any,
) -> PreviewResult:
    """Previews the import of a file whose columns are matched by heading."""
    table = csv_table(text.encode(), "posts.csv") if isinstance(text, str) else text
    content_type = posts(fields)
    targets = match_headings(table.headings, fields, {})
    request = ImportRequest(SCOPE, "posts", "i-1", targets, **options)
    columns = columns_of(table.headings, targets, fields)
    rows = list(parsed_rows(table, columns, request))
    keys = {(each.language, each.slug) for each in existing}
    if request.repeats == "suffix":
        rows = await suffixed(rows, partial(_taken, keys))
    own = {row.key: request.entry_id(row.key) for row in rows if row.key not in keys}
    context = ImportContext(
        content_type,
        {(each.language, each.slug): each.id for each in existing},
        {each.id: each for each in existing} if request.update else {},
        EntryQuota(0, entries_left),
        _references(existing, own),
        Actor("import", "i-1", table.name),
    )
    decisions = await dry_run(rows, context, request)
    return PreviewResult([decision.preview for decision in decisions], decisions)


async def _taken(known: set[EntryKey], keys: set[EntryKey]) -> set[EntryKey]:
    return keys & known


def _references(existing: tuple[Entry, ...], own: dict[EntryKey, str]) -> References:
    """References to these entries: two named Ada (an author and a topic), the topic «sea», and the
    image «hero»."""
    authors = {"ada": [ADA]}
    all_types = {
        **{each.slug: [each.id] for each in existing},
        "ada": [ADA, OTHER_ADA],
        "sea": [SEA],
    }
    types = {ADA: "authors", OTHER_ADA: "topics", SEA: "topics"}
    types |= {each.id: "posts" for each in existing}
    by_types: dict[Among, Any] = {("en-US", ("authors",)): authors, ("en-US", ()): all_types}
    languages = {language for language, _ in own}
    return References(types, by_types, own, languages, "posts", {HERO: ["hero"], "hero": ["hero"]})


def workbook(heading: str, cell: str, epoch: Epoch | None = 1900) -> Table:
    """A workbook with one row: its title, its body and one more cell."""

    return Table("x.xlsx", ("Title", "Body", heading), (Row(2, ("A", "x", cell)),), epoch=epoch)
