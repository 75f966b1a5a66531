"""Children of a real parent: restarted when they end, ended with it, never orphaned."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy import supervisor
from deploy.supervisor import Child, supervise
from tests.integration.deploy.processes import alive, eventually, seen, start, until

PARENT = """
import asyncio, os, signal, sys, time
from deploy import supervisor

def sleeps():
    with open(sys.argv[1], "a") as notes:
        print(os.getpid(), file=notes)
    time.sleep(600)

def ignores_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeps()

functions = {"sleeps()": sleeps, "ignores_sigterm()": ignores_sigterm}
scripts = sys.argv[2:]
is_killed = any(one.startswith(('trap "" TERM', "ignores_sigterm")) for one in scripts)
supervisor.GRACE = 0.5 if is_killed else 60
children = [supervisor.Child(one, functions.get(one, ("/bin/sh", "-c", one))) for one in scripts]
asyncio.run(supervisor.supervise(children))
"""
# Each writes its process id to the file `notes` once it is ready.
SLEEPS = 'echo $$ >> "{notes}"; exec sleep 600'
IGNORES_SIGTERM = 'trap "" TERM; echo $$ >> "{notes}"; while :; do sleep 0.1; done'

# A child is a command or a function in a forked process.
each_kind = pytest.mark.parametrize(
    ("sleeps", "ignores_sigterm"),
    [(SLEEPS, IGNORES_SIGTERM), ("sleeps()", "ignores_sigterm()")],
    ids=["commands", "functions"],
)

Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def noted(notes: Path) -> list[int]:
    """The process ids that the children have written."""
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


@pytest.fixture
def run(notes: Path) -> Iterator[Run]:
    """Starts a parent of these children. Any process left is killed at the end."""
    parents: list[subprocess.Popen[str]] = []

    def run_parent(*scripts: str) -> subprocess.Popen[str]:
        written = [script.format(notes=notes) for script in scripts]
        parents.append(start(sys.executable, "-c", PARENT, str(notes), *written))
        return parents[-1]

    yield run_parent
    left = [pid for pid in noted(notes) if alive(pid)]
    for parent in parents:
        parent.kill()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    for parent in parents:
        parent.communicate()
    assert left == []


def end(parent: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> None:
    parent.send_signal(number)
    assert parent.wait(60) == 0


@each_kind
def test_children_are_direct_and_in_separate_groups(
    run: Run, notes: Path, sleeps: str, ignores_sigterm: str
) -> None:
    parent = run(sleeps, sleeps)
    until(lambda: len(noted(notes)) == 2)
    for pid in noted(notes):
        assert seen(pid, "ppid") == str(parent.pid)
        assert seen(pid, "pgid") == str(pid)
    end(parent)
    assert not any(alive(pid) for pid in noted(notes))


def test_output_is_passed_on_unchanged(run: Run, notes: Path) -> None:
    parent = run(f"echo hello; {SLEEPS}")
    until(lambda: noted(notes))
    end(parent)
    assert parent.communicate() == ("hello\n", "")


def test_children_may_end_normally(run: Run, notes: Path) -> None:
    parent = run('trap "echo bye; exit 0" TERM; ' + IGNORES_SIGTERM.partition("; ")[2])
    until(lambda: noted(notes))
    end(parent)
    assert parent.communicate() == ("bye\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_parent_ends_all_children(
    run: Run, notes: Path, number: signal.Signals
) -> None:
    parent = run(SLEEPS, SLEEPS)
    until(lambda: len(noted(notes)) == 2)
    end(parent, number)
    assert not any(alive(pid) for pid in noted(notes))


def test_ctrl_c_in_a_terminal_reaches_only_the_parent(run: Run, notes: Path) -> None:
    parent = run(
        'trap "echo interrupted" INT; trap "exit 0" TERM; ' + IGNORES_SIGTERM.partition("; ")[2]
    )
    until(lambda: noted(notes))
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.wait(60) == 0
    assert parent.communicate() == ("", "")


@each_kind
def test_a_child_that_does_not_end_is_eventually_killed(
    run: Run, notes: Path, sleeps: str, ignores_sigterm: str
) -> None:
    parent = run(ignores_sigterm, sleeps)
    until(lambda: len(noted(notes)) == 2)
    end(parent)
    assert "did not end within" in parent.communicate()[1]
    assert not any(alive(pid) for pid in noted(notes))


@each_kind
def test_children_do_not_survive_a_killed_parent(
    run: Run, notes: Path, sleeps: str, ignores_sigterm: str
) -> None:
    parent = run(ignores_sigterm, sleeps)
    until(lambda: len(noted(notes)) == 2)
    parent.kill()
    until(lambda: not any(alive(pid) for pid in noted(notes)))


@each_kind
def test_a_killed_child_is_started_again_and_the_others_continue(
    run: Run, notes: Path, sleeps: str, ignores_sigterm: str
) -> None:
    parent = run(sleeps, sleeps)
    until(lambda: len(noted(notes)) == 2)
    killed, stays = noted(notes)
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(noted(notes)) == 3)
    assert [alive(pid) for pid in noted(notes)] == [False, True, True]
    assert noted(notes)[1] == stays
    end(parent)
    assert "ended with status -9; starting it again in 0.1 s" in parent.communicate()[1]


async def pauses(
    child: Child, caplog: pytest.LogCaptureFixture, count: int
) -> list[tuple[str, str]]:
    """Supervise a child until it has died ``count`` times; return how it ended each time, and the
    pauses in seconds."""
    caplog.set_level(logging.WARNING, logger="deploy.supervisor")
    task = asyncio.create_task(supervise([child]))
    await eventually(lambda: len(caplog.messages) >= count)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    restarts = [message.partition("; starting it again in ") for message in caplog.messages[:count]]
    return [(end, pause) for end, _, pause in restarts]


async def test_pauses_double_up_to_a_limit(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE", 0.3)
    found = await pauses(Child("short", ("/bin/sh", "-c", "exit 3")), caplog, 4)
    assert [pause for _, pause in found] == ["0.1 s", "0.2 s", "0.3 s", "0.3 s"]
    assert all(end.endswith("ended with status 3") for end, _ in found)


async def test_a_pause_is_observed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    times = tmp_path / "times"
    write = "import sys, time; print(time.time(), file=open(sys.argv[1], 'a'))"
    await pauses(Child("short", (sys.executable, "-c", write, str(times))), caplog, 4)
    first, *_, last = map(float, times.read_text().split())
    assert last - first >= 0.1 + 0.2 + 0.4


async def test_a_long_run_resets_the_pause(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LONG_LIFE", 0.0)
    found = await pauses(Child("long", ("/bin/true",)), caplog, 3)
    assert [pause for _, pause in found] == ["0.1 s", "0.1 s", "0.1 s"]


async def test_a_missing_command_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = await pauses(Child("missing", ("/nowhere/at/all",)), caplog, 2)
    assert [pause for _, pause in found] == ["0.1 s", "0.2 s"]


async def test_an_exception_of_the_greeting_ends_the_children(notes: Path) -> None:
    async def refuse() -> None:
        await eventually(lambda: noted(notes))
        raise ValueError("no")

    child = Child("sleeps", ("/bin/sh", "-c", SLEEPS.format(notes=notes)))
    with pytest.raises(ValueError, match="no"):
        await supervise([child], refuse)
    assert not alive(noted(notes)[0])


async def test_the_greeting_is_cancelled_at_a_stop(notes: Path) -> None:
    async def stop_and_wait() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(600)

    async with asyncio.timeout(60):
        await supervise([], stop_and_wait)
