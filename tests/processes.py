"""contentlog as processes: started, killed, restarted, and observed from outside."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

CONTENTLOG = Path(sys.executable).with_name("contentlog")


FIRST_PORT, PORTS = 20_000, 12_000
"""The range is below Linux's ephemeral ports: an outgoing connection might take one of those."""
WORKERS = 8
"""Each pytest worker, up to this many, has its own part of the range."""
_numbers = itertools.count(random.randrange(PORTS))  # random: several processes run tests
PATIENCE = 120.0
"""Seconds for a process to start or to end, on a busy machine."""


def free_port() -> int:
    """Returns a free port, a different one each time. It stays free until it is used: no other
    pytest worker gets it."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    while True:
        port = FIRST_PORT + next(_numbers) % (PORTS // WORKERS) * WORKERS + worker
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def open_folder() -> Iterator[Path]:
    """A new folder that every user can access: PostgreSQL runs as another user."""
    with TemporaryDirectory(prefix="contentlog-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def http_server(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serves on a free port until the end. Yields the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        # The argument: how many seconds it may take to notice ``shutdown``.
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Processes:
    """An API and a projector on one database, each a separate process."""

    def __init__(
        self, database_url: str, log: Path, open_files: int | None = None, /, **environment: str
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        operators = free_port()
        self.operators_url = f"http://127.0.0.1:{operators}"
        self._log: IO[bytes] = log.open("ab")
        self._environment = {
            **os.environ,
            "CONTENTLOG_EVENT_STORE_URL": database_url,
            "CONTENTLOG_READ_MODEL_URL": database_url,
            "CONTENTLOG_PORT": str(self.port),
            "CONTENTLOG_ADMIN_PORT": str(operators),
            # Tests send more requests per minute than the default limits allow.
            "CONTENTLOG_KEY_RATE_LIMIT": "0",
            "CONTENTLOG_IP_RATE_LIMIT": "0",
            "CONTENTLOG_COST_LIMIT": "0",
            **environment,
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        limit = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(open_files)]
        self._limit = [] if open_files is None else limit

    def start(self, name: str) -> None:
        """Starts ``api``, ``projector`` or ``webhooks``. Further ones have a number: ``webhooks
        2``."""
        self.running[name] = subprocess.Popen(
            [*self._limit, CONTENTLOG, name.split()[0]],
            env=self._environment,
            stdout=self._log,
            stderr=self._log,
        )

    def run(self, *command: str) -> int:
        """Runs another command on the same database. Returns its exit status."""
        return subprocess.run(
            [CONTENTLOG, *command], env=self._environment, stdout=self._log, stderr=self._log
        ).returncode

    def kill(self, name: str) -> None:
        """Kills the process with SIGKILL: it cannot finish anything."""
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait(PATIENCE)

    def stop(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def readiness(self) -> dict[str, object] | None:
        """Returns the body of the admin port's /readyz if the service is ready, or None."""
        try:
            with urllib.request.urlopen(f"{self.operators_url}/readyz", timeout=30) as response:
                body: dict[str, object] = json.load(response)
                return body
        except (OSError, http.client.HTTPException):
            return None

    async def caught_up(self, patience: float = PATIENCE) -> dict[str, object]:
        """Waits until the API responds and the read model has the whole log."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            body = await asyncio.to_thread(self.readiness)
            if body is not None and body["head"] == body["checkpoint"]:
                return body
            await asyncio.sleep(0.05)
        raise AssertionError(f"not caught up within {patience} s")


@contextmanager
def apis(processes: list[Processes]) -> Iterator[list[Processes]]:
    """Starts each API, and stops them at the end."""
    try:
        for process in processes:
            process.start("api")
        yield processes
    finally:
        for process in processes:
            process.stop()


@contextmanager
def running(
    database_url: str, log: Path, open_files: int | None = None, /, **environment: str
) -> Iterator[Processes]:
    """Starts an API and a projector, and stops them at the end. They write to the log file.

    ``open_files`` is the open-file limit of each. Rate limits are off, unless the environment sets
    them.
    """
    processes = Processes(database_url, log, open_files, **environment)
    try:
        processes.start("projector")
        processes.start("api")
        yield processes
    finally:
        processes.stop()
