"""PgBouncer with the project's configuration, in front of a test PostgreSQL (Debian: pgbouncer)."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from deploy.embedded.programs import for_server
from tests.processes import free_port

FILE = Path(__file__).parents[1] / "deploy/proxy/pgbouncer.ini"
PATIENCE = 60.0


# Debian installs it in a folder that is not on every user's PATH.
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


class PgBouncer:
    """A PgBouncer process that can be killed and restarted on the same port."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def configure(self, server: str, passwords: Mapping[str, str], pool_size: int) -> None:
        """``server`` is a URL on the PostgreSQL; all of its databases are available under their
        names. ``passwords`` maps roles to passwords, plain or as PostgreSQL stores them."""
        at = urlsplit(server)
        users = self._folder / "userlist.txt"
        users.write_text("".join(f'"{role}" "{secret}"\n' for role, secret in passwords.items()))
        text = FILE.read_text()
        for was, becomes in (
            (
                "content = host=127.0.0.1 port=5432 dbname=content",
                f"* = host={at.hostname} port={at.port}",
            ),
            ("listen_port = 6432", f"listen_port = {self.port}"),
            ("/etc/pgbouncer/userlist.txt", str(users)),
            ("default_pool_size = 20", f"default_pool_size = {pool_size}"),
        ):
            assert was in text, was
            text = text.replace(was, becomes)
        (self._folder / "pgbouncer.ini").write_text(text)

    def set(self, name: str, value: str) -> None:
        """Changes a setting at the next start."""
        with (self._folder / "pgbouncer.ini").open("a") as file:
            file.write(f"\n{name} = {value}\n")

    def start(self) -> None:
        assert PROGRAM is not None
        # PgBouncer refuses to run as root.
        user = ["-u", for_server(None).name] if os.geteuid() == 0 else []
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "-q", *user, str(self._folder / "pgbouncer.ini")],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise AssertionError((self._folder / "log").read_text())

    def kill(self) -> None:
        """Kills the process with SIGKILL."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(PATIENCE)

    def url(self, url: str) -> str:
        """Returns the URL for the same database and role through this process."""
        login = urlsplit(url).netloc.rpartition("@")[0]
        address = f"{login}@127.0.0.1:{self.port}"
        return urlunsplit(urlsplit(url)._replace(netloc=address, query="sslmode=disable"))


@contextmanager
def pgbouncer(server: str, passwords: Mapping[str, str], *, pool_size: int) -> Iterator[PgBouncer]:
    """Starts PgBouncer, and kills it at the end. The parameters are those of ``configure``."""
    if PROGRAM is None:
        raise FileNotFoundError("pgbouncer is not installed (on Debian: apt-get install pgbouncer)")
    folder = Path(tempfile.mkdtemp(prefix="cl-pgbouncer-"))
    folder.chmod(0o755)
    process = PgBouncer(folder)
    try:
        process.configure(server, passwords, pool_size)
        process.start()
        yield process
    finally:
        process.kill()
        shutil.rmtree(folder, ignore_errors=True)
