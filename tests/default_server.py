"""A PostgreSQL server with default settings: initdb, and an address."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from deploy.embedded.programs import Account, for_server, runnable
from deploy.embedded.sockets import OWNER
from tests.processes import free_port

BINARIES = "CONTENTLOG_TEST_POSTGRES"
"""An environment variable: the folder of another PostgreSQL's programs, for example version
15's."""
LOG = "log"
"""The log file, relative to the data folder so that ``pg_read_file`` finds it."""


@contextmanager
def default_server(
    *, durable: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Starts a server and yields a superuser's URL. This takes about 2 s.

    The embedded programs run it, unless BINARIES names others. ``durable`` keeps fsync on,
    PostgreSQL's default. ``settings`` are additional settings. The server logs to LOG.
    """
    account = for_server(None)
    home = Path(tempfile.mkdtemp(prefix="cl-default-"))
    home.chmod(0o755)
    try:
        server = _Server(account, home)
        server.make()
        changed = [f"-c {name}={value}" for name, value in (settings or {}).items()]
        server.start(() if durable else ("-F",), changed)
        try:
            yield server.url
        finally:
            server.run("pg_ctl", "stop", "-m", "fast" if durable else "immediate")
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Server:
    def __init__(self, account: Account, home: Path) -> None:
        self._account = account
        self._private = home / "private"
        self._port = free_port()
        self._password = secrets.token_hex()
        self.url = f"postgresql://{OWNER}:{self._password}@127.0.0.1:{self._port}/postgres"

    def make(self) -> None:
        self._account.make_private(self._private)
        password = self._private / "password"
        password.write_text(self._password)
        if self._account.is_other:
            os.chown(password, self._account.uid, self._account.gid)
        named = ("--username", OWNER, "--auth", "scram-sha-256", "--pwfile", str(password))
        self.run("initdb", "--no-sync", *named)

    def start(self, *options: Iterable[str]) -> None:
        address = f"-h 127.0.0.1 -p {self._port} -k ''"
        log = str(self._private / "cluster" / LOG)
        line = " ".join((address, *chain(*options)))
        self.run("pg_ctl", "start", "-w", "-l", log, "-o", line)

    def run(self, name: str, *arguments: str) -> None:
        if folder := os.environ.get(BINARIES):
            command = [str(Path(folder) / name)]
        else:
            command = runnable(self._account).command(name)
        environment = {"PGDATA": str(self._private / "cluster")}
        done = self._account.run([*command, *arguments], environment=environment)
        if done.returncode != 0:
            raise RuntimeError(f"{name} failed: {done.stdout}")
