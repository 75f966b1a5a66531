"""Hostile files: each is refused with its reason, without much memory, and the next file is
read."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.workbooks import (
    HEADINGS,
    PARTS,
    SHEET,
    bomb,
    claiming,
    in_column,
    sheet,
    strings,
    workbook,
)
from write_side.imports.file_reader import read_file
from write_side.imports.table import LIMITS, NO_CHOICE, FileRefused, Limits, Table, decode_table
from write_side.imports.worker import TOO_MUCH, Answer, Task, answer_to

MIB = 1024**2
DAMAGED = "is damaged: open it in a spreadsheet program"
REPAIR = "open it in a spreadsheet program and save it again as .xlsx"
pytestmark = pytest.mark.usefixtures("reading_process")

ENTITIES = f"declares entities or a document type, which no spreadsheet does: {REPAIR}"
OUTSIDE = f"contains a path outside the archive: {REPAIR}"
LONG = "shorten it"

_MEASURED = """
import sys
from write_side.imports.worker import main
main()
sys.stderr.write(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


def read_and_measured(document: bytes, name: str) -> tuple[Answer, int]:
    """The worker's result, and its peak resident memory in bytes. The time limit is long, so that
    it is not reached on a busy machine."""
    task = msgspec.json.encode(Task(name, NO_CHOICE, replace(LIMITS, seconds=300.0))).decode()
    with tempfile.TemporaryFile() as file:
        file.write(document)
        file.flush()
        command = [sys.executable, "-I", "-c", _MEASURED, task]
        worker = subprocess.run(command, stdin=file, capture_output=True, check=True, env={})
    return msgspec.msgpack.decode(worker.stdout, type=Answer), int(worker.stderr) * 1024


def read_and_decoded(document: bytes) -> Table:
    answer = answer_to(Task("x.xlsx", NO_CHOICE, LIMITS), io.BytesIO(document))
    assert answer.table is not None
    return decode_table(answer.table)


def with_doctype(part: str, declaration: str) -> str:
    """The first element follows the declaration, and each of its texts is an entity."""
    return f"<!DOCTYPE x [{declaration}]>{part.replace('<t>', '<t>&e;')}"


EXTERNAL = '<!ENTITY e SYSTEM "file:///etc/passwd">'
LAUGHS = '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY e "&b;&b;&b;&b;">'
RELATIONS = "xl/_rels/workbook.xml.rels"
STRINGS = "xl/sharedStrings.xml"


def lying(says: int) -> bytes:
    """The header promises little data, with a valid checksum, but the stream is endless."""
    crc = zlib.crc32(sheet(HEADINGS).encode()[:says])
    return claiming(bomb(64 * MIB), SHEET, says, crc=crc)


def named(*names: str) -> bytes:
    """A workbook with additional parts of these names."""
    file = io.BytesIO(workbook())
    with warnings.catch_warnings(), zipfile.ZipFile(file, "a") as archive:
        warnings.simplefilter("ignore", UserWarning)
        for name in names:
            archive.writestr(name, b"")
    return file.getvalue()


def flipped(document: bytes) -> bytes:
    """One bit of the sheet's own bytes is flipped."""
    at = document.index(SHEET.encode()) + len(SHEET) + 20
    return document[:at] + bytes([document[at] ^ 1]) + document[at + 1 :]


def with_sheet(part: str) -> bytes:
    return workbook(parts={SHEET: part})


def rows(*written: str) -> bytes:
    return workbook(HEADINGS + "".join(written))


def formatted(code: str) -> bytes:
    """A workbook without cells that has this number of formats."""
    styles = PARTS["xl/styles.xml"].replace('formatCode="', f'formatCode="{code}')
    return workbook("", {"xl/styles.xml": styles})


SPARSE = sheet(
    f'{HEADINGS}<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    before='<dimension ref="A1:XFD1048576"/>',
)


def doctype_in(part: str, declaration: str) -> bytes:
    """A document type in the workbook's part of that name."""
    shared = in_column(' t="s"><v>0</v>')
    usual = {**PARTS, SHEET: sheet(shared)}[part]
    return workbook(shared, {part: with_doctype(usual, declaration)})


def one_string_for_all_cells() -> bytes:
    row = "<row>" + '<c t="s"><v>0</v></c>' * 100 + "</row>"
    return workbook(HEADINGS + row * 20, {STRINGS: strings(f"<t>{'x' * 32_767}</t>")})


X_15_MB = "x" * (15 * MIB)
NOWHERE = '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb of 600 MB": (lambda: bomb(600 * MIB), "decompresses to 629,145,600 bytes"),
    "a header of 1 GB": (
        lambda: claiming(workbook(), SHEET, 10**9),
        "decompresses to 1,000,000",
    ),
    "a header that says too little": (lambda: lying(200), DAMAGED),
    "an external entity in a sheet": (lambda: doctype_in(SHEET, EXTERNAL), ENTITIES),
    "laughs in a sheet": (lambda: doctype_in(SHEET, LAUGHS), ENTITIES),
    "laughs in strings": (lambda: doctype_in(STRINGS, LAUGHS), ENTITIES),
    "laughs in relations": (lambda: doctype_in(RELATIONS, LAUGHS), ENTITIES),
    "a document type elsewhere": (lambda: with_sheet(NOWHERE + sheet(HEADINGS)), ENTITIES),
    "a sparse sheet": (lambda: with_sheet(SPARSE), "has cells in row 1,048,576"),
    "a sparse row": (lambda: rows('<row r="1048576"><c><v>1</v></c></row>'), "in row 1,048,576"),
    "a sparse column": (lambda: rows('<row><c r="XFD2"><v>1</v></c></row>'), "in column XFD: at"),
    "a long attribute": (lambda: rows(f'<row x="{X_15_MB}"/>', "<row"), DAMAGED),
    "a long text": (lambda: rows(f'<row><c t="str"><v>{X_15_MB}</v></c></row>'), LONG),
    "one string for all cells": (one_string_for_all_cells, "has too much text: split it"),
}
OF_EACH_KIND = ("a bomb of 600 MB", "an external entity in a sheet", "a sparse sheet")


BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "parts outside of itself": (lambda: named("xl/../../../etc/x"), OUTSIDE),
    "parts at the root": (lambda: named("/etc/x"), OUTSIDE),
    "parts twice": (lambda: named("xl/workbook.xml"), DAMAGED),
    "parts by the thousand": (lambda: named(*map(str, range(2_500))), "has more than 2,000 parts"),
    "a large directory": (lambda: named(*(f"{n}{X_15_MB[:60_000]}" for n in range(20))), "2,000 p"),
    "cut off": (lambda: workbook()[:-300], "is cut off, or is damaged"),
    "cut at the front": (lambda: workbook()[:4] + workbook()[300:], DAMAGED),
    "encrypted": (lambda: claiming(workbook(), SHEET, 300, flags=1), "is encrypted: save it"),
    "an unknown compression": (lambda: claiming(workbook(), SHEET, 300, method=99), DAMAGED),
    "a wrong bit": (lambda: flipped(workbook()), DAMAGED),
    "no sheet": (lambda: workbook(parts={SHEET: None}), DAMAGED),
    "no XML": (lambda: with_sheet(sheet(HEADINGS)[:-3]), DAMAGED),
    "deep XML": (lambda: with_sheet(sheet("<a>" * 50_000 + "</a>" * 50_000)), "has no headings"),
    "a format without end": (lambda: formatted("[" * 900_000), "has no headings"),
    "a string that there is not": (lambda: rows('<row><c t="s"><v>7</v></c></row>'), DAMAGED),
    "a string below none": (lambda: rows('<row><c t="s"><v>-1</v></c></row>'), DAMAGED),
    "a row below none": (lambda: rows('<row r="-1"><c><v>7</v></c></row>'), DAMAGED),
    "a row twice": (lambda: rows('<row r="1"><c><v>7</v></c></row>'), DAMAGED),
    "a row too many": (lambda: rows('<row r="1048577"/>'), DAMAGED),
    "a cell of another row": (lambda: rows('<row r="2"><c r="A3"><v>7</v></c></row>'), DAMAGED),
    "a number that is none": (lambda: rows("<row><c><v>NaN</v></c></row>"), "cell A2 holds"),
    "a row without end": (lambda: rows("<row>", "<c/>" * 20_000, "</row>"), DAMAGED),
}


@pytest.mark.parametrize(("made", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_workbook_is_refused(made: Callable[[], bytes], message: str) -> None:
    answer = answer_to(Task("x.xlsx", NO_CHOICE, LIMITS), io.BytesIO(made()))
    assert answer.refusal is not None, answer
    assert message in answer.refusal


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(*case, id=name, marks=() if name in OF_EACH_KIND else pytest.mark.slow)
        for name, case in HOSTILE.items()
    ],
)
def test_a_hostile_workbook_is_refused_in_little_memory(
    made: Callable[[], bytes], message: str
) -> None:
    answer, peak = read_and_measured(made(), "x.xlsx")
    assert answer.refusal is not None, answer
    assert message in answer.refusal
    assert peak < 120 * MIB


HARMLESS: dict[str, Callable[[], bytes]] = {
    "a long comment": lambda: rows(f"<!--{X_15_MB}-->"),
    "a cell of many parts": lambda: rows("<row><c>", "<x/>" * 250_000, "</c></row>"),
    "elements after the rows": lambda: with_sheet(
        sheet(HEADINGS).replace("</worksheet>", "<from><row>9</row><c>1</c></from></worksheet>")
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("made", HARMLESS.values(), ids=HARMLESS)
def test_other_elements_than_cells_are_ignored_in_little_memory(made: Callable[[], bytes]) -> None:
    answer, peak = read_and_measured(made(), "x.xlsx")
    assert answer.table is not None, answer
    assert decode_table(answer.table) == read_and_decoded(workbook())
    assert peak < 120 * MIB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"Title\n" + b"x" * (15 * MIB), "more than 2,097,152 characters"),
        (b'Title\n"' + b"x\n" * (7 * MIB), "more than 2,097,152 characters"),
        (b"Title" + b"," * (4 * MIB), "has more than 500 columns"),
        (b"Title" + b"\n" * MIB + b"a,b", "has cells in row 100,001"),
    ],
)
def test_a_hostile_csv_is_refused_in_bounded_memory(document: bytes, message: str) -> None:
    answer, peak = read_and_measured(document, "x.csv")
    assert answer.refusal is not None, answer
    assert message in answer.refusal
    assert peak < 300 * MIB


def test_two_thousand_rows_are_read_in_little_memory() -> None:
    line = ",".join(["a text of some length"] * 20)
    answer, peak = read_and_measured("\n".join([line] * 2001).encode(), "x.csv")
    assert answer.table is not None
    assert len(decode_table(answer.table).rows) == 2000
    assert peak < 100 * MIB


def test_processes_that_serve_requests_have_priority() -> None:
    program = "import os; from write_side.imports.worker import main; main(); print(os.nice(0))"
    task = msgspec.json.encode(Task("a.csv", NO_CHOICE, LIMITS)).decode()
    command = [sys.executable, "-c", program, task]
    done = subprocess.run(command, input=b"title\nOne\n", capture_output=True, check=True)
    assert int(done.stdout.split()[-1]) >= os.nice(0) + 5


@pytest.mark.slow
async def test_the_service_continues() -> None:
    hostile = [read_file(made(), "x.xlsx") for made, _ in list(HOSTILE.values())[:5]]
    *refused, table = await asyncio.gather(
        *hostile, read_file(workbook(), "good.xlsx"), return_exceptions=True
    )
    assert [type(one) for one in refused] == [FileRefused] * 5
    assert not isinstance(table, BaseException)
    assert table.headings == ("Title",)


async def test_a_large_file_is_not_read_at_all(tmp_path: Path) -> None:
    message = "x.csv has 52,428,800 bytes; at most 16,777,216 are imported"
    with pytest.raises(FileRefused, match=message):
        await read_file(bytes(50 * MIB), "x.csv")
    path = tmp_path / "x.csv"
    with path.open("wb") as file:
        file.truncate(50 * MIB)
    with pytest.raises(FileRefused, match=message):
        await read_file(path, path.name)


async def test_more_memory_than_allowed_is_refused() -> None:
    document = b"Title\n" + b"x" * (15 * MIB)
    with pytest.raises(FileRefused, match=f"x.csv {TOO_MUCH}"):
        await read_file(document, "x.csv", limits=Limits(memory_bytes=64 * MIB))
