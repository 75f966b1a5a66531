"""Real processes for the tests: users of a server, and the processes that are running."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest

T = TypeVar("T")
REPOSITORY = Path(__file__).parents[3]
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root lends the server another user")
has_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at /proc")


def until(happened: Callable[[], object], seconds: float = 60) -> None:
    """Poll until ``happened`` returns true."""
    limit = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.01)


async def eventually(happened: Callable[[], object], seconds: float = 60) -> None:
    """Like ``until``, for coroutines."""
    async with asyncio.timeout(seconds):
        while not happened():  # noqa: ASYNC110 - other processes set no event here
            await asyncio.sleep(0.01)


def start(*command: str) -> subprocess.Popen[str]:
    """Start a process in its own session, with pipes."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        start_new_session=True,
    )


@contextmanager
def user(data: Path, *name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that uses the server in this folder, optionally as another user. It is killed at
    the end."""
    process = start(sys.executable, "-m", "tests.integration.deploy.server_user", str(data), *name)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url.startswith("postgresql://"), url or process.communicate()
    return url


def leave(process: subprocess.Popen[str]) -> None:
    """Close the process's input and wait until it exits without an error."""
    output, errors = process.communicate(timeout=60)
    assert (output.split()[-1:], errors, process.returncode) == (["left"], "", 0)


def ask(url: str, question: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(question.encode())
        row = cursor.fetchone() if cursor.description else None
        return str(row[0]) if row else ""


def started_at(url: str) -> str:
    return ask(url, "SELECT pg_postmaster_start_time()")


def running_in(folder: Path) -> list[int]:
    """Processes whose working directory or arguments are in this folder."""
    return [
        int(process.name) for process in Path("/proc").glob("[0-9]*") if _is_in(process, folder)
    ]


def inspect_running(folder: Path, inspect: Callable[[Path], T]) -> list[T]:
    """The results of ``inspect`` for the /proc folders of these processes. Those that end meanwhile
    are skipped, because a server constantly starts and ends short-lived processes."""
    found = []
    for pid in running_in(folder):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append(inspect(Path(f"/proc/{pid}")))
    return found


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that may have ended already."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def children_of(parent: int) -> list[int]:
    """The child processes that are still running."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, started_by = stat.read_text().rpartition(")")[2].split()[:2]
            if int(started_by) == parent and state != "Z":
                found.append(int(stat.parent.name))
    return found


def seen(pid: int, what: str) -> str:
    """What ps prints for a process; empty if it has ended."""
    command = ["ps", "-o", f"{what}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def alive(pid: int) -> bool:
    """Whether the process is running; a zombie is not."""
    return seen(pid, "stat")[:1] not in {"", "Z"}


def listens(pid: int, port: int) -> bool:
    """Whether the process has its own socket that accepts connections on the TCP port."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    sockets = {
        f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")
    }
    return any(_target(file) in sockets for file in Path(f"/proc/{pid}/fd").glob("*"))


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def paused(folder: Path) -> list[int]:
    """Stop all processes in this folder, including those they start meanwhile."""
    stopped: list[int] = []
    while new := [pid for pid in running_in(folder) if pid not in stopped]:
        for pid in new:
            send(pid, signal.SIGSTOP)
        stopped += new
    return stopped


def kill_all_in(folder: Path) -> list[int]:
    """Kill the processes left in this folder; return their ids."""
    left = running_in(folder)

    def gone() -> bool:
        for pid in (running := running_in(folder)):
            send(pid, signal.SIGKILL)
        return not running

    until(gone)
    return left


def _is_in(process: Path, folder: Path) -> bool:
    try:
        where = (process / "cwd").readlink()
        arguments = (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    is_program = "/pginstall/bin/" in arguments and str(folder) in arguments
    return where.is_relative_to(folder) or is_program
