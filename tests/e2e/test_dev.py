"""`contentlog dev` in an empty folder: the commands it prints work, and it leaves no process
behind."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.dev import Dev
from tests.integration.deploy.processes import has_proc, until

pytestmark = has_proc


def answer(line: str) -> Any:
    """Runs a printed command in the shell and returns the JSON response."""
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=120)  # noqa: S602
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rebuild_in_workers(dev: Dev) -> None:
    """Rebuilds as if the log were long: several processes replay it."""
    program = (
        "from deploy.cli import main; from write_side.store import log_reader;"
        "log_reader.EVENTS_IN_A_RANGE = 20; main()"
    )
    command = (sys.executable, "-P", "-c", program, "rebuild")
    done = subprocess.run(command, env=dev.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="runs the printed curl lines")
def test_the_commands_of_the_first_start_work_and_the_second_changes_nothing(start: Any) -> None:
    dev = start()
    dev.ready()
    listed, single, create = dev.curl_lines()
    articles = answer(listed)
    assert articles["success"] is True
    assert len(articles["data"]) == 3
    assert articles["pagination"]["total"] == 18
    french = answer(single)["data"]
    assert (french["locale"], french["title"]) == ("fr-FR", "Le brouillard à l'oreille")
    created = answer(create)
    assert created["data"]["status"] == "draft"
    assert "error" in answer(create)  # the slug is now taken
    # The create waited until it could be read.
    status = json.loads(dev.run("status", "--json"))
    assert status["lag"] == {"events": 0, "seconds": 0.0}
    assert [one["role"] for one in status["projectors"]] == ["active"]
    rebuild_in_workers(dev)
    dev.stop(signal.SIGINT)

    again = start()
    again.ready()
    assert json.loads(again.run("status", "--json"))["head"] == status["head"]
    assert answer(again.curl_lines()[0]) == articles
    again.stop(signal.SIGTERM)


def test_a_port_in_use_is_one_line_before_anything_is_started(
    start: Any, data: Path, port: int
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        dev = start()
        assert dev.process.wait(120) == 1
    until(lambda: dev.complaints)
    (line,) = dev.complaints
    assert line.startswith(f"contentlog: port {port} is already in use")
    assert not data.exists()


def has_begun(data: Path) -> bool:
    """Whether initdb has begun. It moves and removes files meanwhile."""
    with suppress(FileNotFoundError):
        return any(data.glob("**/PG_VERSION"))
    return False


@pytest.mark.slow
@pytest.mark.parametrize("step", ["PG_VERSION", "demo"])
def test_an_interrupted_first_start_is_completed_by_the_next(
    start: Any, data: Path, step: str
) -> None:
    dev = start()
    if step == "demo":
        until(lambda: len(dev.pids()) >= 3)
    else:
        until(lambda: has_begun(data))
    pids = dev.pids() - {dev.process.pid}
    dev.process.send_signal(signal.SIGKILL if step == "demo" else signal.SIGTERM)
    assert dev.process.wait(120) in (0, -signal.SIGKILL)
    # The kernel ends the killed parent's children, which may take a moment.
    until(lambda: not [one for one in pids if Path(f"/proc/{one}").exists()])
    again = start()
    again.ready()
    assert answer(again.curl_lines()[0])["pagination"]["total"] == 18
    again.stop(signal.SIGINT)


@pytest.mark.slow
def test_without_the_demo_the_log_is_empty(start: Any) -> None:
    dev = start("--no-demo")
    dev.ready()
    assert json.loads(dev.run("status", "--json"))["head"] == 0
    assert dev.curl_lines() == []
    dev.stop(signal.SIGTERM)
