"""Functions in forked processes. What they share with commands is in test_supervisor.py."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.deploy.processes import (
    children_of,
    has_proc,
    send,
    start,
    until,
)

pytestmark = has_proc
# Each child writes its process id to the file `notes` once it runs.
PARENT = """
import asyncio, logging, os, signal, sys, time
from pathlib import Path
from deploy import supervisor
from deploy.failures import Failed
from deploy.logs import LogLines
from write_side.domain.identity import new_id

notes = Path(sys.argv[1])

def note(text):
    with notes.open("a") as file:
        print(text, file=file)

def calm():
    note(os.getpid())
    time.sleep(600)

def fail():
    note("failing")
    raise Failed("there is no such thing")

def crash():
    note("crashing")
    raise ValueError("a bug")

def name():
    note(new_id())
    time.sleep(600)

async def serve():
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    note(os.getpid())
    await stopped.wait()
    note("stopped")

def loop():
    asyncio.run(serve())

async def stop():
    os.kill(os.getpid(), signal.SIGTERM)

if "stop" in sys.argv:  # then the signal arrives before a child has handlers of its own
    os.register_at_fork(after_in_child=lambda: time.sleep(0.3))

new_id()
lines = LogLines(sys.stderr.buffer)
logging.basicConfig(handlers=[lines], format="%(message)s")

async def main():
    children = [supervisor.Child(work, globals()[work]) for work in sys.argv[2:] if work != "stop"]
    lines.add(b"waits to be written")
    await supervisor.supervise(children, stop if "stop" in sys.argv else None)

asyncio.run(main())
"""

Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def noted(notes: Path, number: int) -> list[str]:
    """Wait until children have written this many notes; return the notes."""
    until(lambda: notes.exists() and len(notes.read_text().split()) >= number)
    return notes.read_text().split()


@pytest.fixture
def run(notes: Path) -> Iterator[Run]:
    """Starts a parent of these functions. The parent and its children are killed at the end."""
    parents: list[subprocess.Popen[str]] = []

    def run_parent(*works: str) -> subprocess.Popen[str]:
        parents.append(start(sys.executable, "-c", PARENT, str(notes), *works))
        return parents[-1]

    yield run_parent
    for parent in parents:
        children = children_of(parent.pid)
        parent.kill()
        for child in children:
            send(child, signal.SIGKILL)
        parent.communicate()


def end(parent: subprocess.Popen[str]) -> str:
    """Stop the parent; return its standard error."""
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(60) == 0
    return parent.communicate()[1]


def test_a_signal_in_the_moment_of_the_start_is_not_lost(run: Run) -> None:
    parent = run("calm", "calm", "calm", "stop")
    assert parent.wait(60) == 0
    assert "Traceback" not in parent.communicate()[1]


def test_a_child_runs_an_event_loop_that_is_not_its_parents(run: Run, notes: Path) -> None:
    parent = run("loop", "calm")
    first, second = (int(pid) for pid in noted(notes, 2))
    for pid in (first, second):
        os.kill(pid, signal.SIGTERM)
    assert noted(notes, 5).count("stopped") == 1, "both are started again, and the parent goes on"
    end(parent)


def test_failures_are_shown_as_those_of_commands(run: Run, notes: Path) -> None:
    parent = run("fail", "crash")
    # The second attempt begins after the failure of the first was shown.
    until(lambda: notes.exists() and notes.read_text().count("crashing") >= 2)
    lines = end(parent)
    assert "contentlog: there is no such thing\n" in lines
    assert "ValueError: a bug\n" in lines
    assert lines.count("ended with status 1") >= 2


def test_a_line_that_waits_at_the_start_is_written_once(run: Run, notes: Path) -> None:
    parent = run("calm", "calm")
    noted(notes, 2)
    assert end(parent).count("waits to be written") == 1


def test_copies_do_not_make_the_same_ids(run: Run, notes: Path) -> None:
    parent = run("name", "name")
    first, second = noted(notes, 2)
    assert first[-12:] != second[-12:], "the random part"
    end(parent)


async def test_the_end_is_waited_for_without_blocking_the_loop() -> None:
    """The child ends once the loop runs on. The script is a process of its own, because pytest may
    have threads."""
    script = (
        "import asyncio, os\n"
        "from deploy.supervisor import ForkedProcess\n"
        "async def main():\n"
        "    reading, writing = os.pipe()\n"
        "    process = ForkedProcess('work', lambda: os.read(reading, 1))\n"
        "    waiting = asyncio.create_task(process.wait())\n"
        "    for _ in range(5):\n"
        "        await asyncio.sleep(0.01)\n"
        "    os.write(writing, b'x')\n"
        "    await waiting\n"
        "    print(process.returncode)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=-1)
    try:
        async with asyncio.timeout(60):
            assert (await process.communicate())[0] == b"0\n"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
