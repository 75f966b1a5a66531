"""A server process that is stopped while it waits for an unresponsive database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.processes import CONTENTLOG, free_port

HOST = "127.0.0.1"
# Seconds. A connection attempt is given up after a minute.
PATIENCE = 40


@pytest.mark.parametrize("connection", [1, 2], ids=["while it checks", "while it starts"])
@pytest.mark.parametrize("command", ["api", "projector", "webhooks"])
def test_a_server_that_is_stopped_while_it_connects_ends_with_status_0(
    command: str, connection: int
) -> None:
    with socket.create_server((HOST, 0)) as database:
        url = f"postgresql://user@{HOST}:{database.getsockname()[1]}/content?sslmode=disable"
        database.settimeout(60)
        process = subprocess.Popen(
            [CONTENTLOG, command],
            env={
                **os.environ,
                "CONTENTLOG_EVENT_STORE_URL": url,
                "CONTENTLOG_READ_MODEL_URL": url,
                "CONTENTLOG_PORT": str(free_port()),
            },
            stdin=subprocess.DEVNULL,
        )
        try:
            for _ in range(connection - 1):
                database.accept()[0].close()
            silent, _ = database.accept()
            with silent:
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_second_signal_while_a_command_ends_does_not_change_its_status(name: str) -> None:
    command = f"""
import os, signal, sys
from deploy.cli import main

sys.argv = ["contentlog", "settings"]
try:
    main()
finally:
    signal.signal(signal.{name}, signal.SIG_DFL)  # as Python does when it ends
    os.kill(os.getpid(), signal.{name})
"""
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("rest", ["time.sleep(10); sys.exit(3)", "pass"], ids=["works", "ends"])
def test_a_signal_is_not_lost_in_code_whose_exceptions_python_ignores(name: str, rest: str) -> None:
    command = f"""
import os, signal, sys, time, types
import click
from deploy.cli import main

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})

@click.command("api")
def api():
    Finalized()
    {rest}

sys.modules["deploy.commands.servers"] = types.SimpleNamespace(api_command=api)
sys.argv = ["contentlog", "api"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    command = """
import signal, sys
from deploy.cli import main

signal.signal(signal.SIGHUP, signal.SIG_IGN)
sys.argv = ["contentlog", "--version"]
try:
    main()
finally:
    print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)
"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "True"


# What the work does: it is sent SIGTERM once or twice, and prints what it comes to.
IGNORED = """
    class Ignoring:
        def __del__(self):
            terminate()
    Ignoring()
    try:
        await asyncio.sleep(60)
    finally:
        print("cancelled", flush=True)
"""
TWICE = (
    IGNORED
    + """
        terminate()
        print("not reached")
"""
)
AT_THE_END = """
    terminate()
    print("ended", flush=True)
"""
BLOCKED = """
    reading, writing = os.pipe()
    threading.Timer(0.1, terminate).start()
    while True:
        os.write(writing, bytes(65_536))
"""


@pytest.mark.parametrize(
    ("work", "printed"),
    [(IGNORED, "cancelled\n"), (TWICE, "cancelled\n"), (AT_THE_END, "ended\n"), (BLOCKED, "")],
    ids=["where errors are ignored", "twice", "at the end", "while it is blocked"],
)
def test_sigterm_stops_a_command_wherever_it_arrives(work: str, printed: str) -> None:
    command = f"""
import asyncio, os, signal, threading
from deploy.stopping import run_stoppable

def terminate():
    os.kill(os.getpid(), signal.SIGTERM)

async def work():{work}

signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    run_stoppable(work())
except KeyboardInterrupt:
    print("interrupted")
assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
"""
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{printed}interrupted\n", "")
