"""The process that reads one file from standard input and writes its table to standard output.

One is started for each file. It bounds its own memory and time, imports little, and ends with the
process that started it.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
import traceback
from typing import BinaryIO

import msgspec
from msgspec import Struct

from write_side.imports.csv_reader import read_csv
from write_side.imports.file_type import HEAD_BYTES, file_type
from write_side.imports.table import Choice, FileRefused, Limits, Table
from write_side.imports.table_encoding import EncodedTable, encode_table

TOO_MUCH = "takes too much time or memory to read: split it into several files"


class Task(Struct, frozen=True):
    """The worker's one argument, as JSON."""

    name: str
    choice: Choice
    limits: Limits


class Answer(Struct, frozen=True):
    """One of the three. ``failure`` is an unexpected error, for the log."""

    table: EncodedTable | None = None
    refusal: str | None = None
    failure: str | None = None


def main() -> None:
    task = msgspec.json.decode(sys.argv[1], type=Task)
    confine(task.limits)
    answer = msgspec.msgpack.encode(answer_to(task, sys.stdin.buffer))
    end_with_reader(False)
    sys.stdout.buffer.write(answer)


def answer_to(task: Task, file: BinaryIO) -> Answer:
    try:
        return Answer(table=encode_table(table_in(file, task)))
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
    if file_type(file.read(HEAD_BYTES), name) == "xlsx":
        # Importing openpyxl takes longer than reading most CSV files.
        from write_side.imports.xlsx.workbook import workbook_table

        return workbook_table(file, name, task.choice, limits)
    file.seek(0)
    return read_csv(file.read(limits.upload_bytes), name, task.choice, limits)


def confine(limits: Limits) -> None:
    """Limits the memory, processor time and wall time of this process, which is killed beyond them.

    It can write no file, and a signal ends it when its standard output has no reader any more.
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


if __name__ == "__main__":
    main()
