"""A PostgreSQL of a test's own, to be stopped, backed up and restored: the wheel's programs.

What is run is what an operator would run, so that operations.md can say it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deploy.embedded import programs
from deploy.embedded.sockets import OWNER
from tests.processes import free_port

FAST = ("fsync=off", "full_page_writes=off", "shared_buffers=32MB", "timezone=UTC")


class Postgres:
    """A cluster in a folder, on a port of loopback. Root lends it a user of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._programs = programs.runnable(programs.for_server(None))

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def make(self, *settings: str) -> None:
        self._programs.account.make_private(self.folder)
        self.run("initdb", "-D", str(self.folder), "-U", OWNER, "--no-sync", "-E", "UTF8")
        self.configure(*FAST, *settings)

    def make_standby_of(self, primary: Postgres, *settings: str) -> None:
        self._programs.account.make_private(self.folder)
        copied = ("-D", str(self.folder), "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        primary.run("pg_basebackup", *copied)
        self.configure(*settings)

    def configure(self, *settings: str) -> None:
        """Settings as in postgresql.conf, which the next start finds."""
        with (self.folder / "postgresql.conf").open("a") as conf:
            conf.write("".join(f"{setting}\n" for setting in settings))

    def start(self) -> None:
        self._control("start", "-o", f"-p {self.port} -c listen_addresses=127.0.0.1 -k ''")

    def restart(self) -> None:
        """Sessions are ended at once, as ``pg_ctl restart`` does."""
        self._control("restart")

    def promote(self) -> None:
        """A standby begins to take writes."""
        self._control("promote")

    def stop(self) -> None:
        self._control("stop", "-m", "fast")

    def pids(self) -> list[int]:
        """The postmaster's first."""
        postmaster = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        return [postmaster, *map(int, children)]

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """As a machine that is gone: it will not be stopped."""
        self.signal(signal.SIGKILL)
        (self.folder / "postmaster.pid").unlink()

    def run(self, program: str, *arguments: str) -> str:
        """One of PostgreSQL's programs, on this cluster; returns what it prints."""
        done = self._programs.account.run(
            self._programs.command(program, *arguments), environment=self.environment
        )
        assert done.returncode == 0, f"{program}: {done.stdout}"
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": OWNER}

    def _control(self, *arguments: str) -> None:
        log = ("-l", str(self.folder / "log"))
        self.run("pg_ctl", "-D", str(self.folder), "-w", "-t", "120", *log, *arguments)


@contextmanager
def postgres(folder: Path, *settings: str) -> Iterator[Postgres]:
    """A new cluster, running; stopped at the end if it still is."""
    server = Postgres(folder)
    server.make(*settings)
    server.start()
    try:
        yield server
    finally:
        if (folder / "postmaster.pid").exists():
            server.stop()
