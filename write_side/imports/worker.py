"""The process that reads one file from standard input and writes its table to standard output.

One is started for each file. It limits its own memory and time, imports few modules, and ends with
the process that started it.
"""

from __future__ import annotations

import fcntl
import os
import re
import resource
import signal
import sys
import traceback
from typing import BinaryIO, Literal

import msgspec
from msgspec import Struct

from write_side.imports.csv_reader import read_csv
from write_side.imports.table import (
    Choice,
    EncodedTable,
    FileRefused,
    Limits,
    Table,
    TooManyRows,
    UnusedChoice,
    encode_table,
)

FileType = Literal["csv", "xlsx"]
HEAD_BYTES = 4096
_EXPORT = "open it in a spreadsheet program and save it as .xlsx or CSV UTF-8"
_SIGNATURES = {
    f"is an old Excel file, .xls, or has a password: {_EXPORT}": (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    ),
    "is a PDF document: import the table that it was made from": rb"%PDF",
    "is a text document, .rtf: copy its table into a spreadsheet": rb"\{\\rtf",
    "is an image: import a table": rb"\x89PNG|\xff\xd8\xff|GIF8[79]a",
    "is an image or a sound: import a table": rb"RIFF.{4}(WEBP|WAVE|AVI )",
    "is compressed: decompress it and import the file inside": rb"\x1f\x8b|7z\xbc\xaf|Rar!\x1a\x07",
    "is a database: export its table as CSV": rb"SQLite format 3\0",
    "is a Parquet file: export its table as CSV": rb"PAR1\x15",
}
"""Why a file cannot be imported → its first bytes. A CSV file may begin with the letters alone."""
_ZIP = (b"PK\3\4", b"PK\5\6", b"PK\7\x08")
"""The first bytes of a ZIP archive: an ordinary one, an empty one and one of several volumes."""
_HTML = re.compile(
    rb"(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|table|meta|\?xml|!--)", re.IGNORECASE
)
TOO_MUCH = "takes too much time or memory to read: split it into several files"


class Task(Struct, frozen=True):
    """The worker's one argument, as JSON."""

    name: str
    choice: Choice
    limits: Limits


class Answer(Struct, frozen=True):
    """One of the members is set. ``rows``: of a file with too many. ``unused``: the refusal of a
    choice that does not apply. ``failure``: an unexpected error, for the log."""

    table: EncodedTable | None = None
    rows: int | None = None
    refusal: str | None = None
    unused: str | None = None
    failure: str | None = None


def main() -> None:
    os.nice(5)  # processes that serve requests have priority
    task = msgspec.json.decode(sys.argv[1], type=Task)
    confine(task.limits)
    answer = msgspec.msgpack.encode(answer_to(task, sys.stdin.buffer))
    end_with_reader(False)
    sys.stdout.buffer.write(answer)


def answer_to(task: Task, file: BinaryIO) -> Answer:
    try:
        return Answer(table=encode_table(table_in(file, task)))
    except TooManyRows as refused:
        return Answer(rows=refused.rows)
    except UnusedChoice as refused:
        return Answer(unused=str(refused))
    except FileRefused as refused:
        return Answer(refusal=str(refused))
    except MemoryError:
        return Answer(refusal=TOO_MUCH)
    except Exception:
        return Answer(failure=traceback.format_exc(limit=-5))


def table_in(file: BinaryIO, task: Task) -> Table:
    """``file`` must be seekable. Raises FileRefused with what follows the file's name."""
    name, limits = task.name, task.limits
    size = file.seek(0, 2)
    if size > limits.upload_bytes:
        raise FileRefused(f"has {size:,} bytes; at most {limits.upload_bytes:,} are imported")
    file.seek(0)
    found = file_type(file.read(HEAD_BYTES), name)
    check_choice(task.choice, found)
    if found == "xlsx":
        # Importing openpyxl takes longer than reading most CSV files.
        from write_side.imports.xlsx.workbook import workbook_table

        return workbook_table(file, name, task.choice, limits)
    file.seek(0)
    return read_csv(file.read(limits.upload_bytes), name, task.choice, limits)


def check_choice(choice: Choice, found: FileType) -> None:
    """Raises UnusedChoice; its message continues a sentence that begins with the file's name."""
    if found == "csv" and choice.sheet is not None:
        raise UnusedChoice("is a CSV file, which has no sheets: leave the sheet out")
    for name in ("encoding", "delimiter") if found == "xlsx" else ():
        if getattr(choice, name) is not None:
            raise UnusedChoice(f"is a workbook, which has no {name}: leave the {name} out")


def confine(limits: Limits) -> None:
    """Limits the memory, processor time and wall time of this process, which is killed beyond them.

    It cannot write files, and a signal ends it when its standard output no longer has a reader.
    """
    for kind, limit in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (limit, limit))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    end_with_reader(True)


def end_with_reader(is_armed: bool) -> None:
    """The pipe itself sends the signal, so no thread has to watch while a parser runs.

    Disarm it before writing: the signal also comes when the pipe has room again.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(1, fcntl.F_GETFL) & ~os.O_ASYNC
    fcntl.fcntl(1, fcntl.F_SETFL, flags | (os.O_ASYNC if is_armed else 0))


def file_type(head: bytes, name: str) -> FileType:
    """The type according to its first bytes, which must match its name. Raises FileRefused with
    what follows the file's name."""
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    for reason, signature in _SIGNATURES.items():
        if re.match(signature, head, re.DOTALL):
            raise FileRefused(reason)
    if _HTML.match(head):
        raise FileRefused(f"is a web page or XML: {_EXPORT}")
    if head.startswith(_ZIP):
        return _checked_type("xlsx", extension, "is a workbook: rename it to end in .xlsx")
    text = "is text, not a workbook: rename it to end in .csv"
    return _checked_type("csv", extension, text if head else "is empty: export or save it again")


def _checked_type(found: FileType, extension: str, mismatch: str) -> FileType:
    if extension not in ("csv", "xlsx"):
        raise FileRefused(f"has an unsupported file type; expected .csv or .xlsx: {_EXPORT}")
    if extension != found:
        raise FileRefused(mismatch)
    return found


if __name__ == "__main__":
    main()
