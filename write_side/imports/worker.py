"""The process that reads one file, on standard input, and answers on standard output.

It is started for each file and imports little. What goes wrong in it goes wrong in it alone.
"""

from __future__ import annotations

import sys
import traceback
from typing import BinaryIO

import msgspec
from msgspec import Struct

from write_side.imports.confining import confine, end_with_reader
from write_side.imports.delimited import delimited_table
from write_side.imports.files import Choice, FileRefused, Limits, Table
from write_side.imports.kinds import HEAD_BYTES, kind_of
from write_side.imports.packing import Packed, packed

TOO_MUCH = "takes too much time or memory to read: split it into several files"


class Task(Struct, frozen=True):
    """The worker's one argument, as JSON."""

    name: str
    choice: Choice
    limits: Limits


class Answer(Struct, frozen=True):
    """One of the three. ``failure`` is what nobody foresaw, for the log."""

    table: Packed | None = None
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
        return Answer(table=packed(table_in(file, task)))
    except FileRefused as refused:
        return Answer(refusal=str(refused))
    except MemoryError:
        return Answer(refusal=TOO_MUCH)
    except Exception:
        return Answer(failure=traceback.format_exc(limit=-5))


def table_in(file: BinaryIO, task: Task) -> Table:
    """The file is one that can be sought in. Raises FileRefused with what follows its name."""
    name, limits = task.name, task.limits
    size = file.seek(0, 2)
    if size > limits.upload_bytes:
        raise FileRefused(f"has {size:,} bytes; at most {limits.upload_bytes:,} are imported")
    file.seek(0)
    if kind_of(file.read(HEAD_BYTES), name) == "xlsx":
        # A CSV file has not to wait for openpyxl.
        from write_side.imports.xlsx.workbook import workbook_table

        return workbook_table(file, name, task.choice, limits)
    file.seek(0)
    return delimited_table(file.read(limits.upload_bytes), name, task.choice, limits)


if __name__ == "__main__":
    main()
