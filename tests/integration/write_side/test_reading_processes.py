"""The processes in which files are read: how they start, how many run, and when they end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workbooks import workbook
from write_side.imports import file_reader
from write_side.imports.file_reader import AT_ONCE, read_file
from write_side.imports.table import FileRefused, Limits, Table, encode_table
from write_side.imports.worker import TOO_MUCH, Answer

pytestmark = pytest.mark.usefixtures("reading_process")

CONFINED = "from write_side.imports.worker import *; from write_side.imports.table import *;"


def children() -> set[str]:
    """The ids of the running processes that this one has started."""
    return {pid for path in Path("/proc/self/task").iterdir() for pid in _children(path)}


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except FileNotFoundError:
        return []  # a thread that has just ended


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Runs this shell command instead of a worker."""

    def write(commands: str) -> None:
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\n{commands}\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return write


@pytest.fixture
def inheritable(tmp_path: Path) -> Iterator[int]:
    """An open file that child processes inherit unless this is prevented."""
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        yield file.fileno()


async def test_a_path_is_read_directly(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(workbook())
    assert (await read_file(path, "posts.xlsx")).name == "posts.xlsx"


@pytest.mark.parametrize(("name", "text"), [("none.csv", "no such file"), ("", "not a file")])
async def test_a_missing_file_and_a_folder_are_refused(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    with pytest.raises(FileRefused, match=f"^{re.escape(str(path))}: {text}$"):
        await read_file(path, "x.csv")


async def test_a_refusal_is_one_line_for_any_name() -> None:
    with pytest.raises(FileRefused) as caught:
        await read_file(b"", f"{'x' * 999}\n\x1b[1m\udcff.csv")
    message = str(caught.value)
    name = "x\ufffd\ufffd[1m\ufffd.csv"
    assert message.endswith(
        f"{name} has no headings: write the names of the columns into the first row"
    )
    assert len(message) < 300


async def test_a_worker_inherits_neither_environment_nor_files(
    instead: Callable[[str], None],
    inheritable: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTENTLOG_SECRET", "s3cret")
    seen = tmp_path / "seen"
    instead(f"exec > {seen}\n/usr/bin/env\n/bin/ls /proc/$$/fd")
    with pytest.raises(FileRefused, match="cannot be read"):
        await read_file(b"Title\n", "x.csv")
    lines = seen.read_text().split()
    assert "s3cret" not in seen.read_text()
    assert str(inheritable) not in lines
    assert {"0", "1", "2"} <= {line for line in lines if line.isdigit()} <= {"0", "1", "2", "10"}


async def test_a_worker_that_hangs_is_killed(instead: Callable[[str], None]) -> None:
    instead("exec /bin/sleep 600")
    before = children()
    with pytest.raises(FileRefused, match=f"^x.csv {TOO_MUCH}$"):
        await read_file(b"Title\n", "x.csv", limits=Limits(seconds=0.2))
    assert children() <= before


async def test_a_worker_is_killed_when_its_caller_is_cancelled(
    instead: Callable[[str], None],
) -> None:
    instead("exec /bin/sleep 600")
    before = children()
    task = asyncio.create_task(read_file(b"Title\n", "x.csv"))
    while children() <= before:  # noqa: ASYNC110 – the start of a process has no event
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() <= before


async def test_a_worker_with_too_much_output_is_killed(instead: Callable[[str], None]) -> None:
    instead("exec /bin/cat /dev/zero")
    before = children()
    with pytest.raises(FileRefused, match="has too much text"):
        await read_file(b"Title\n", "x.csv", limits=Limits(text_bytes=1))
    assert children() <= before


@pytest.mark.parametrize("does", ["exit 3", "kill -SEGV $$", "echo hello"])
async def test_a_worker_that_fails_refuses_the_file(
    instead: Callable[[str], None], does: str
) -> None:
    instead(does)
    with pytest.raises(FileRefused, match=r"^x\.csv cannot be read: open it in a spreadsheet"):
        await read_file(b"Title\n", "x.csv")


async def test_few_workers_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0

    async def answer(*_: object) -> Answer:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return Answer(table=encode_table(Table("x.csv", ("Title",), ())))

    monkeypatch.setattr(file_reader, "_answer", answer)
    await asyncio.gather(*(read_file(b"Title\n", "x.csv") for _ in range(3 * AT_ONCE)))
    assert most == AT_ONCE


def ended(program: str) -> int:
    command = [sys.executable, "-c", CONFINED + program]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=60).returncode


@pytest.mark.slow
def test_a_confined_process_is_stopped_beyond_its_limits() -> None:
    assert ended("confine(Limits(seconds=0.01))\nwhile True: pass") == -signal.SIGALRM
    assert ended("confine(Limits(cpu_seconds=1))\nwhile True: pass") in (
        -signal.SIGKILL,
        -signal.SIGXCPU,
    )
    assert ended("confine(Limits())\nbytearray(2**30)") == 1


def test_a_confined_process_writes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    ended(f"confine(Limits())\nopen({str(path)!r}, 'w').write('x')")
    assert path.read_text() == ""


def test_a_confined_process_does_not_outlive_its_parent() -> None:
    """Its standard error reaches the end when both processes have ended."""
    child = f"{CONFINED} confine(Limits(seconds=600, cpu_seconds=600))\nos.write(2, b'up')"
    child += "\nwhile True: pass"
    parent = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], stdout=-1)"
    )
    with subprocess.Popen([sys.executable, "-c", parent, child], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.read(2) == b"up"
        process.kill()
        _, rest = process.communicate(timeout=60)
    assert rest == b""
