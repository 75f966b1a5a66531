"""A PostgreSQL server for one test, to be stopped, backed up and restored.

The programs come from the wheel. The commands are those of an operator, so that operations.md can
document them.
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
    """A cluster in a folder, on a loopback port. Under root it runs as another user."""

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
        """Adds lines to postgresql.conf. They take effect at the next start."""
        with (self.folder / "postgresql.conf").open("a") as conf:
            conf.write("".join(f"{setting}\n" for setting in settings))

    def start(self) -> None:
        self._control("start", "-o", f"-p {self.port} -c listen_addresses=127.0.0.1 -k ''")

    def restart(self) -> None:
        """Restarts the server, which ends all sessions at once."""
        self._control("restart")

    def promote(self) -> None:
        """Promotes a standby."""
        self._control("promote")

    def stop(self) -> None:
        self._control("stop", "-m", "fast")

    def pids(self) -> list[int]:
        """The process ids, the postmaster's first."""
        postmaster = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        return [postmaster, *map(int, children)]

    def signal(self, number: signal.Signals) -> None:
        """Signals all processes of the server."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Kills the server as if its machine were lost. It cannot be stopped afterwards."""
        self.signal(signal.SIGKILL)
        (self.folder / "postmaster.pid").unlink()

    def run(self, program: str, *arguments: str) -> str:
        """Runs one of PostgreSQL's programs on this cluster and returns its output."""
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
    """Starts a new cluster. Stops it at the end if it is still running."""
    server = Postgres(folder)
    server.make(*settings)
    server.start()
    try:
        yield server
    finally:
        if (folder / "postmaster.pid").exists():
            server.stop()
