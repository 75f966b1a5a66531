"""What is wrong with a file: the same things together, and all of them as a file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence

from aiohttp import web
from msgspec import Struct

from api.dashboard.pages import see
from api.dashboard.visit import Visit
from write_side.imports.escapes import guard
from write_side.imports.preview import Preview
from write_side.imports.uploads import Upload, find_preview


class Problem(Struct, frozen=True):
    """The same thing wrong in several rows."""

    heading: str
    reason: str
    severity: str
    rows: int
    first: int


async def problems(visit: Visit, upload: Upload) -> web.StreamResponse:
    """All problems as a CSV file, guarded as an export is."""
    kept = await find_preview(visit.service.repository, visit.scope, upload.id)
    if kept is None:
        return see(visit.link("imports", upload.id, "columns"))
    written = io.StringIO()
    csv.writer(written).writerows(_problem_rows(kept.preview))
    response = web.Response(body=written.getvalue().encode("utf-8-sig", "replace"))
    response.content_type, response.charset = "text/csv", "utf-8"
    response.headers["Content-Disposition"] = 'attachment; filename="problems.csv"'
    return response


def _problem_rows(preview: Preview) -> Iterator[Sequence[object]]:
    yield ("Row", "Severity", "Column", "Cell", "Problem")
    for row in preview.rows:
        for note in row.notes:
            said = (note.severity, note.heading, note.cell, note.reason)
            yield (row.number, *map(guard, said))


def problems_of(preview: Preview) -> list[Problem]:
    """Errors before warnings, what concerns most rows first."""
    found: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], int] = {}
    for row in preview.rows:
        for what in dict.fromkeys((n.severity, n.heading, n.reason) for n in row.notes):
            found[what] += 1
            first.setdefault(what, row.number)
    problems = [
        Problem(heading, reason, severity, rows, first[severity, heading, reason])
        for (severity, heading, reason), rows in found.items()
    ]
    return sorted(problems, key=lambda one: (one.severity != "error", -one.rows, one.first))
