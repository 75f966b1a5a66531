"""The third step: what would become of each row, before anything is saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from aiohttp import web
from msgspec import Raw, Struct

from api.dashboard.pages import see, show
from api.dashboard.paging import Paging, page_of
from api.dashboard.pointing import names_of
from api.dashboard.visit import Visit
from api.dashboard.wizard.extent import Extent, extent
from api.dashboard.wizard.lines import Reader
from api.dashboard.wizard.problems import problems_of
from api.dashboard.wizard.steps import STEPS
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.entry import Entry
from write_side.imports.preview import Counts, Difference, State
from write_side.imports.uploads import Previewed, Upload, find_preview

ROWS = 50
CELLS = 2_000
"""Of a page: it has fewer rows where they are wide."""
MOST_PROBLEMS = 6
"""Kinds of problems that are listed above the rows."""
STATES: tuple[tuple[State, str], ...] = (
    ("new", "New"),
    ("update", "Update"),
    ("unchanged", "Unchanged"),
    ("skipped", "Skipped"),
    ("error", "Errors"),
)


class Tab(Struct, frozen=True):
    state: str
    name: str
    count: int


async def preview(visit: Visit, upload: Upload) -> web.StreamResponse:
    kept = await find_preview(visit.service.repository, visit.scope, upload.id)
    if kept is None:
        return see(visit.link("imports", upload.id, "columns"))
    return await show_preview(visit, upload, kept)


async def show_preview(
    visit: Visit,
    upload: Upload,
    kept: Previewed,
    code: int = 200,
    *,
    problem: str = "",
    differences: Sequence[Difference] = (),
) -> web.StreamResponse:
    """``problem``: why nothing was imported yet; ``differences`` from what was shown then."""
    query, counts = visit.request.query, kept.preview.counts
    reach = extent(kept.preview.rows)
    content_type = await visit.service.repository.fresh_content_type(
        visit.scope, kept.wish.content_type_slug
    )
    state = next((name for name, _ in STATES if name == query.get("state", "")), "")
    chosen = [
        index for index, row in enumerate(kept.preview.rows) if not state or row.state == state
    ]
    rows = max(5, min(ROWS, CELLS // len(upload.table.headings)))
    paging = Paging(page_of(query.get("page", "")), len(chosen), rows)
    page = chosen[paging.first - 1 : paging.last] if not paging.is_beyond else []
    entries = await _entries(visit, kept, page)
    names = await names_of(visit, _values(content_type, entries.values()))
    reader = Reader(upload, kept, content_type, entries, names)
    return await show(
        visit,
        "wizard/preview.html",
        code,
        steps=STEPS,
        upload=upload,
        kept=kept,
        counts=counts,
        content_type=content_type,
        tabs=_tabs(counts, len(kept.preview.rows)),
        state=state,
        paging=paging,
        headings=reader.names,
        lines=[reader.line(index) for index in page],
        problems=problems_of(kept.preview),
        most_problems=MOST_PROBLEMS,
        extent=reach,
        offer=offer(counts, reach),
        hindrance=hindrance(counts, update=kept.wish.options.update),
        problem=problem,
        differences=differences,
    )


async def _entries(visit: Visit, kept: Previewed, page: Sequence[int]) -> Mapping[str, Entry]:
    """Those that rows of the page would change."""
    rows = [kept.preview.rows[index] for index in page]
    ids = {row.entry_id for row in rows if row.state == "update" and row.entry_id}
    return await visit.service.repository.entries(visit.scope, ids)


def _values(content_type: ContentType, entries: Iterable[Entry]) -> Iterator[tuple[Field, Raw]]:
    """With their fields."""
    for entry in entries:
        for field in content_type.value_fields:
            if field.slug in entry.fields:
                yield field, entry.fields[field.slug]


def _tabs(counts: Counts, total: int) -> list[Tab]:
    tabs = [Tab(state, name, getattr(counts, state)) for state, name in STATES]
    return [Tab("", "All", total), *(tab for tab in tabs if tab.count)]


def offer(counts: Counts, reach: Extent) -> str:
    """What the button says, and does."""
    if not counts.ready:
        return "Nothing to import"
    parts = []
    if reach.new:
        parts.append(f"import {_rows(reach.rows_of_new)}")
    if reach.updated:
        entries = "entry" if reach.updated == 1 else "entries"
        parts.append(f"update {reach.updated:,} {entries}")
    done = " and ".join(parts)
    if counts.error:
        done += f", leave out {counts.error:,} with errors"
    return done[:1].upper() + done[1:]


def hindrance(counts: Counts, *, update: bool) -> str:
    """Why nothing can be imported; "" where something can."""
    if counts.ready:
        return ""
    if counts.error:
        return "No row is ready: correct the file and upload it again, or map its columns anew."
    if counts.skipped and not update:
        return (
            "All rows are skipped, for entries with their slugs exist. To change those entries, "
            "go back to the columns and tick “Update entries whose slug already exists”."
        )
    return "The entries are already as the file has them: there is nothing to import."


def _rows(n: int) -> str:
    return f"{n:,} {'row' if n == 1 else 'rows'}"
