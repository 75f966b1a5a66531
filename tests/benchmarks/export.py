"""The largest export, 5,000 entries of 20 fields, as CSV and .xlsx, against writers that get the
finished rows."""

from __future__ import annotations

import asyncio
import csv
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct
from xlsxwriter import Workbook

from api.export.table import csv_chunks, headings, pages
from api.export.xlsx_file import write_xlsx
from read_side.export import LIMIT, Export, export
from read_side.paging import Filters
from read_side.pool import Pool, open_pool
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.integration.bulk_rows import fill
from tests.integration.live_projector import project_all
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.definition import Field, Option
from write_side.domain.identity import Scope
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ROUNDS = 5
LARGE = 100_000
WORDS = "The quick brown fox jumps over the lazy dog, and back again: «naïve». "
FIELDS = (
    *(Field(f"text{number}", f"Text {number}", "text") for number in range(8)),
    Field("html", "HTML", "rich_text"),
    *(Field(f"number{number}", f"Number {number}", "number") for number in range(3)),
    Field("open", "Open", "boolean"),
    Field("day", "Day", "datetime"),
    Field("span", "Span", "datetime", range=True),
    Field("mood", "Mood", "select", options=(Option("good", "Good"),)),
    Field("author", "Author", "reference", to=("authors",)),
    Field("related", "Related", "reference", multiple=True),
    Field("meta", "Meta", "json"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Question", "text"),)),
)


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        builder = ContentBuilder(Repository(recorder, EventMapper()))
        await builder.workspace()
        await builder.content_type(slug="authors")
        await builder.content_type(*FIELDS)
        await builder.content_type(Field("body", "Body", "text"), slug="large")
        author = await builder.entry("ann", type_slug="authors")
        others = [await builder.entry(f"other-{number}") for number in range(3)]
    await project_all(url, url)
    await fill(url, LIMIT, stored=stored(author, others))
    await fill(url, LIMIT, msgspec.json.encode({"body": "x" * LARGE}).decode(), "large")
    async with open_pool(url) as pool:
        with TemporaryDirectory() as folder:
            memory = await large(pool, Path(folder))
            rows = [*await compared(pool, Path(folder)), memory]
    return table(
        f"Export of {LIMIT:,} entries of 20 fields", rows, "the library, with prepared rows"
    )


def stored(author: str, others: list[str]) -> str:
    values = {
        **{f"text{number}": WORDS for number in range(8)},
        "html": f"<p>{WORDS * 3}</p>",
        **{f"number{number}": 1234.5 + number for number in range(3)},
        "open": True,
        "day": "2026-01-31T09:30:00Z",
        "span": {"from": "2026-01-31", "to": "2026-02-01"},
        "mood": "good",
        "author": author,
        "related": others,
        "meta": {"a": [1, 2, {"b": None}]},
        "faq": [{"q": "Why?"}, {"q": WORDS}],
    }
    return msgspec.json.encode(values).decode()


async def compared(pool: Pool, folder: Path) -> list[Row]:
    wanted = await of(pool)
    ready = [headings(wanted)]
    ready += [row async for page in pages(wanted) for row in page]
    times: dict[str, list[Timing]] = {}
    pauses: list[float] = []
    works: dict[str, Callable[[], Awaitable[None]]] = {
        "csv": lambda: export_csv(pool, folder / "e.csv"),
        "csv floor": lambda: asyncio.to_thread(floor_csv, ready, folder / "f.csv"),
        "xlsx": lambda: export_xlsx(pool, folder / "e.xlsx"),
        "xlsx floor": lambda: asyncio.to_thread(floor_xlsx, ready, folder / "f.xlsx"),
    }
    for _ in range(ROUNDS):
        for name, work in works.items():
            ticking = asyncio.create_task(longest_pause())
            start = Timing.now()
            await work()
            times.setdefault(name, []).append(Timing.now().since(start))
            ticking.cancel()
            if name == "xlsx":
                pauses.append(await ticking)
    return [
        row(kind, (folder / f"e.{kind}").stat().st_size, times[kind], times[f"{kind} floor"], aim)
        for kind, aim in (("csv", 1), ("xlsx", 4))
    ] + [
        Row(
            "xlsx: longest wait of other tasks for the event loop",
            f"{max(pauses) * 1000:.0f} ms",
            "–",
        )
    ]


class Timing(Struct):
    """Elapsed seconds, and this process's processor seconds."""

    seconds: float
    processor: float

    @classmethod
    def now(cls) -> Timing:
        return cls(time.perf_counter(), time.process_time())

    def since(self, start: Timing) -> Timing:
        return Timing(self.seconds - start.seconds, self.processor - start.processor)


def row(kind: str, size: int, ours: list[Timing], theirs: list[Timing], aim: int) -> Row:
    return Row(
        f"{kind} ({size / 1e6:.1f} MB)",
        formatted_medians(ours),
        formatted_medians(theirs),
        ratio_of_rounds([one.seconds for one in theirs], [one.seconds for one in ours]),
        f"≤ {aim} s",
    )


def formatted_medians(timings: list[Timing]) -> str:
    seconds, processor = (
        median([one.seconds for one in timings]),
        median([one.processor for one in timings]),
    )
    return f"{seconds:.2f} s (processor {processor:.2f} s)"


async def large(pool: Pool, folder: Path) -> Row:
    """The additional memory of the process at its peak."""
    before = peak()
    await export_csv(pool, folder / "large.csv", "large")
    size = (folder / "large.csv").stat().st_size
    what = f"csv of entries of {LARGE // 1000} kB ({size / 1e6:.0f} MB), additional memory"
    return Row(what, f"{(peak() - before) / 1024:.0f} MB", "–")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def longest_pause() -> float:
    """Measures the longest delay of a task by the event loop, until it is cancelled."""
    longest = 0.0
    try:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - started - 0.001)
    except asyncio.CancelledError:
        return longest


async def of(pool: Pool, type_slug: str = "posts") -> Export:
    return await export(pool, Scope("acme", "production"), Filters(type_slug))


async def export_csv(pool: Pool, path: Path, type_slug: str = "posts") -> None:
    await write(csv_chunks(await of(pool, type_slug)), path)


async def write(chunks: AsyncIterator[bytes], path: Path) -> None:
    with path.open("wb") as file:
        async for chunk in chunks:
            file.write(chunk)


async def export_xlsx(pool: Pool, path: Path) -> None:
    await write_xlsx(await of(pool), path)


def floor_csv(rows: list[list[str]], path: Path) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def floor_xlsx(rows: list[list[str]], path: Path) -> None:
    book = Workbook(str(path), {"constant_memory": True})
    sheet = book.add_worksheet()
    for number, row in enumerate(rows):
        for index, cell in enumerate(row):
            sheet.write_string(number, index, cell)
    book.close()
