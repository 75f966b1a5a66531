"""Reads each file in a separate process, because files come from untrusted sources."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO
from weakref import WeakKeyDictionary

import msgspec
import structlog

from write_side.imports.table import (
    LIMITS,
    NO_CHOICE,
    TOO_MUCH_TEXT,
    Choice,
    FileRefused,
    Limits,
    Table,
    TooManyRows,
    UnusedChoice,
    decode_table,
)
from write_side.imports.worker import TOO_MUCH, Answer, Task

AT_ONCE = 2
"""Workers of one process at a time: each may use the memory limit."""

Charge = Callable[[float], None]
"""Called with the seconds that a worker ran, even if the file is refused."""

_ROOM = 16 * 1024**2
"""Bytes of an answer in addition to the texts: more than five for each of a million cells."""
_NAME = 200
_UNREADABLE = "cannot be read: open it in a spreadsheet program and save it again as .xlsx or CSV"

_STOPPED = (signal.SIGKILL, signal.SIGXCPU, signal.SIGALRM)
"""Killed by its own limits, or by a system that is out of memory."""

_log = structlog.get_logger("write_side.imports")
_answers = msgspec.msgpack.Decoder(Answer)
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def no_charge(_seconds: float) -> None:
    """For commands, whose work is not charged."""


async def read_file(
    document: bytes | Path,
    name: str,
    choice: Choice = NO_CHOICE,
    limits: Limits = LIMITS,
    *,
    charge: Charge = no_charge,
) -> Table:
    """The table in a CSV or .xlsx file with this name. A path is read directly.

    Raises FileRefused; its text begins with the name, or the path if it cannot be opened, and says
    what to do.
    """
    name = _printable(name)[-_NAME:]
    task = Task(name, choice, limits)
    async with _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)):
        with _opened(document) as file:
            if isinstance(document, bytes):
                await asyncio.to_thread(_fill, file, document)
            began = time.monotonic()
            try:
                answer = await _answer(file, task)
            finally:
                charge(time.monotonic() - began)
    if answer.table is not None:
        return await asyncio.to_thread(decode_table, answer.table)
    if answer.rows is not None:
        raise TooManyRows(answer.rows, limits.rows, name)
    if answer.unused is not None:
        raise UnusedChoice(f"{name} {answer.unused}")
    if answer.failure is not None:
        _log.error("a file could not be read", name=name, failure=answer.failure)
    raise FileRefused(f"{name} {answer.refusal or _UNREADABLE}")


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _opened(document: bytes | Path) -> BinaryIO:
    """A seekable file for the worker; empty if the document is in memory."""
    if isinstance(document, bytes):
        return tempfile.TemporaryFile()
    path = _printable(str(document))
    try:
        if not document.is_file():
            kind = "not a file" if document.exists() else "no such file"
            raise FileRefused(f"{path}: {kind}")
        return document.open("rb")
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}") from None


def _fill(file: BinaryIO, document: bytes) -> None:
    file.write(document)
    file.seek(0)


async def _answer(file: BinaryIO, task: Task) -> Answer:
    limits = task.limits
    try:
        async with asyncio.timeout(limits.seconds), _worker(file, task) as worker:
            assert worker.stdout is not None
            document = await _bounded(worker.stdout, limits.text_bytes + _ROOM)
            if document is None:
                return Answer(refusal=TOO_MUCH_TEXT)
            status = await worker.wait()
    except TimeoutError:
        return Answer(refusal=TOO_MUCH)
    if -status in _STOPPED:
        return Answer(refusal=TOO_MUCH)
    if status != 0:
        return Answer(failure=f"the worker ended with {status}")
    try:
        return _answers.decode(document)
    except msgspec.DecodeError as error:
        return Answer(failure=f"the worker's answer cannot be decoded: {error}")


@asynccontextmanager
async def _worker(file: BinaryIO, task: Task) -> AsyncIterator[Process]:
    """The worker is killed at the latest when the context ends.

    It inherits neither the environment, which holds secrets, nor open files.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-m",
        "write_side.imports.worker",
        msgspec.json.encode(task).decode(),
        stdin=file,
        stdout=PIPE,
        stderr=DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            # wait() alone would never return if unread output is left.
            await process.communicate()


async def _bounded(stream: asyncio.StreamReader, limit: int) -> bytes | None:
    """The whole stream, or None if it is longer than the limit."""
    chunks = []
    while chunk := await stream.read(limit + 1):
        chunks.append(chunk)
        limit -= len(chunk)
        if limit < 0:
            return None
    return b"".join(chunks)
