"""Imports of 2,000 rows of 20 columns: preview, import until visible, memory, and delays of other
work.

The import runs in a separate process, as in an API process. It delays four writers in that process,
and everything else on its event loop.
"""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager

import msgspec
import xlsxwriter
from msgspec import Struct

from projector.process import ProjectorSettings, run_sessions
from read_side.checkpoint import wait_until_visible
from tests.benchmarks.report import median
from write_side.commands import CreateEntry
from write_side.dispatch import execute
from write_side.domain.identity import Actor, Scope, new_id
from write_side.imports.check import check
from write_side.imports.columns import match_headings
from write_side.imports.importer import ImportRun, run_import
from write_side.imports.report import revert_import
from write_side.imports.request import ImportRequest
from write_side.imports.uploads import Upload, find_upload, keep_preview, keep_upload
from write_side.manifest.diff import diff
from write_side.manifest.loader import read_manifest
from write_side.manifest.steps import apply_steps
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ROWS = 2_000
ROUNDS = 5
WRITERS = 4
SCOPE = Scope("bench", "production")
ACTOR = Actor("operator", "bench")
TEXTS = 7
MANIFEST = """
workspace: bench
name: Bench
media: [{id: hero, url: "https://cdn.example.com/hero.png", name: h, contentType: image/png}]
contentTypes:
  - {slug: authors, name: Authors}
  - {slug: notes, name: Notes}
  - slug: posts
    name: Posts
    fields:
      - {slug: body, name: Body, type: rich_text, required: true}
      - {slug: views, name: Views, type: number}
      - {slug: featured, name: Featured, type: boolean}
      - {slug: live, name: Live, type: datetime}
      - {slug: campaign, name: Campaign, type: datetime, range: true}
      - {slug: author, name: Author, type: reference, to: [authors]}
      - {slug: related, name: Related, type: reference, to: [posts], multiple: true}
      - {slug: cover, name: Cover, type: media}
      - {slug: meta, name: Meta, type: json}
      - {slug: faq, name: FAQ, type: repeater, fields: [{slug: q, name: Q, type: text}]}
""" + "".join(f"      - {{slug: text{n}, name: Text {n}, type: text}}\n" for n in range(TEXTS))
ATTRIBUTES = ("Title", "Slug", "Status")
VALUED = ("Body", "Views", "Featured", "Live", "Campaign", "Author", "Related", "Cover", "Meta")
HEADINGS = [*ATTRIBUTES, *VALUED, "FAQ", *(f"Text {n}" for n in range(TEXTS))]


class Figures(Struct):
    """Seconds for each round. ``blocked``, ``alone`` and ``concurrent`` have single waits in
    seconds; ``megabytes`` is the peak memory."""

    read: list[float] = []
    preview: list[float] = []
    imported: list[float] = []
    visible: list[float] = []
    updated: list[float] = []
    reverted: list[float] = []
    blocked: list[float] = []
    alone: list[float] = []
    concurrent: list[float] = []
    megabytes: float = 0.0


async def measure(url: str, _other: str) -> str:
    projector = asyncio.create_task(run_sessions(ProjectorSettings(url, url)))
    found = []
    for kind in ("csv", "xlsx"):
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, url, kind, stdout=asyncio.subprocess.PIPE
        )
        stdout, _ = await child.communicate()
        found.append((kind, msgspec.json.decode(stdout, type=Figures)))
    projector.cancel()
    await asyncio.gather(projector, return_exceptions=True)
    return "\n".join([_TITLE, *(line for kind, figures in found for line in _lines(kind, figures))])


_TITLE = f"""\
### Import, {ROWS:,} rows of {len(HEADINGS)} columns, while {WRITERS} writers create entries

| what | median | worst | bound |
|---|--:|--:|--:|"""


def _lines(kind: str, figures: Figures) -> list[str]:
    def row(what: str, seconds: list[float], bound: str = "") -> str:
        return f"| {kind}: {what} | {median(seconds):.2f} s | {max(seconds):.2f} s | {bound} |"

    def wait(what: str, seconds: list[float], bound: str = "") -> str:
        middle, worst = median(seconds) * 1000, max(seconds) * 1000
        return f"| {kind}: {what} | {middle:.1f} ms | {worst:.0f} ms | {bound} |"

    more = (max(figures.concurrent) - max(figures.alone)) * 1000
    return [
        row("reading the file", figures.read),
        row("preview", figures.preview, "3 s"),
        row("import", figures.imported),
        row("import to visible", figures.visible, "3 s"),
        row("import that updates every row", figures.updated),
        row("reverting the import", figures.reverted),
        wait("a create, no import running", figures.alone),
        wait("a create, while previews and imports run", figures.concurrent),
        f"| {kind}: extra wait of a create, worst | | {more:.0f} ms | 150 ms |",
        wait("the event loop is blocked", figures.blocked),
        f"| {kind}: peak memory of the process | | {figures.megabytes:.0f} MB | 300 MB |",
    ]


async def job(url: str, kind: str) -> Figures:
    figures = Figures()
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await _prepare(repository)
        numbers = itertools.count()
        async with _writers(repository, figures.alone):
            await asyncio.sleep(2)
        for number in range(ROUNDS):
            document = _document(kind, number)
            async with (
                _writers(repository, figures.concurrent),
                _event_loop_blocking(figures.blocked),
            ):
                with _timing(figures.read):
                    upload = await keep_upload(repository, SCOPE, f"posts.{kind}", document)
                request = await _imported(repository, upload, figures, url)
                await _updated(repository, upload, request, figures, next(numbers))
                with _timing(figures.reverted):
                    await revert_import(repository, SCOPE, request.import_id, ACTOR)
    figures.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


async def _imported(
    repository: Repository, upload: Upload, figures: Figures, url: str
) -> ImportRequest:
    """Imports as the wizard does: each step loads what the previous one has stored."""
    fields = (await repository.content_type(SCOPE, "posts")).value_fields
    targets = match_headings(upload.table.headings, fields, {})
    request = ImportRequest(SCOPE, "posts", upload.id, targets)
    began = time.perf_counter()
    kept = await find_upload(repository, SCOPE, upload.id)
    shown = (await check(repository, kept.table, request)).preview
    await keep_preview(repository, SCOPE, upload.id, request, shown)
    figures.preview.append(time.perf_counter() - began)
    assert shown.counts.new == ROWS, shown.counts
    began = time.perf_counter()
    kept = await find_upload(repository, SCOPE, upload.id)
    report = await run_import(ImportRun(repository, kept.table, request, ACTOR), shown)
    figures.imported.append(time.perf_counter() - began)
    assert await wait_until_visible(url, report.position, 60)
    figures.visible.append(time.perf_counter() - began)
    return request


async def _updated(
    repository: Repository, upload: Upload, request: ImportRequest, figures: Figures, number: int
) -> None:
    """Imports the rows with another view count, and reverts that, so that the first import can
    still be reverted."""
    views = HEADINGS.index("Views")
    rows = tuple(
        msgspec.structs.replace(
            row, cells=(*row.cells[:views], f"{number}", *row.cells[views + 1 :])
        )
        for row in upload.table.rows
    )
    table = msgspec.structs.replace(upload.table, rows=rows)
    again = ImportRequest(SCOPE, "posts", new_id(), request.targets, update=True)
    began = time.perf_counter()
    report = await run_import(ImportRun(repository, table, again, ACTOR))
    figures.updated.append(time.perf_counter() - began)
    assert report.counts.update >= ROWS - 1
    await revert_import(repository, SCOPE, again.import_id, ACTOR)


@contextmanager
def _timing(into: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    into.append(time.perf_counter() - began)


@asynccontextmanager
async def _writers(repository: Repository, waits: list[float]) -> AsyncIterator[None]:
    async def write() -> None:
        while True:
            command = CreateEntry(
                actor=ACTOR, scope=SCOPE, content_type_slug="notes", title="n", slug=new_id()
            )
            began = time.perf_counter()
            await execute(command, repository)
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)

    async with _run_concurrently(*(write() for _ in range(WRITERS))):
        yield


@asynccontextmanager
async def _event_loop_blocking(blocked: list[float]) -> AsyncIterator[None]:
    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0)
            blocked.append(time.perf_counter() - began)
            await asyncio.sleep(0.002)

    async with _run_concurrently(watch()):
        yield


@asynccontextmanager
async def _run_concurrently(*work: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _prepare(repository: Repository) -> None:
    manifest = read_manifest(MANIFEST.encode(), "bench.yaml")
    async for _ in apply_steps(await diff(manifest, repository, ACTOR), repository):
        pass
    for n in range(20):
        command = CreateEntry(
            actor=ACTOR, scope=SCOPE, content_type_slug="authors", title=f"Author {n}"
        )
        if not await repository.entries_by_slug(SCOPE, ["authors"], "en-US", [f"author-{n}"]):
            await execute(command, repository)


def _document(kind: str, number: int) -> bytes:
    rows = [_cells(number, n) for n in range(ROWS)]
    if kind == "csv":
        text = io.StringIO()
        csv.writer(text).writerows([HEADINGS, *rows])
        return text.getvalue().encode()
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for n, cells in enumerate([HEADINGS, *rows]):
            sheet.write_row(n, 0, cells)
    return file.getvalue()


def _cells(number: int, n: int) -> list[str]:
    return [
        f"Post {number} {n}",
        f"post-{number}-{n}",
        ("draft", "published", "archived")[n % 3],
        f"<p>{'A paragraph of some length. ' * 10}{n}</p>",
        f"{n},{n % 1000:03}" if n < 1000 and n > 0 else str(n),
        ("yes", "no")[n % 2],
        "2026-01-31T09:30:00Z",
        "2026-01-31 / 2026-02-28",
        f"author-{n % 20}",
        f"post-{number}-{(n + 1) % ROWS}, post-{number}-{(n * 7) % ROWS}",
        "hero",
        f'{{"n": {n}, "tags": ["a", "b"]}}',
        f'[{{"q": "Why {n}?"}}, {{"q": "How?"}}]',
        *(f"The text number {text} of row {n}, of common length" for text in range(TEXTS)),
    ]


if __name__ == "__main__":
    store, file_kind = sys.argv[1:]
    print(msgspec.json.encode(asyncio.run(job(store, file_kind))).decode())
