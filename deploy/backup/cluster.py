"""A PostgreSQL cluster in a folder, which listens on a socket only and is run by a user that
PostgreSQL accepts."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from msgspec import Struct

from deploy.embedded.errors import error_lines
from deploy.embedded.postmaster import option_line
from deploy.embedded.programs import Account, by_name, current_account
from write_side.domain.refusals import ExplainedError

ADMINISTRATOR = "postgres"
"""The user who runs the programs for root, and the role that they connect as."""
PROGRAMS = ("/usr/lib/postgresql/{}/bin", "/usr/pgsql-{}/bin")
"""Where packages of Debian and of RHEL have PostgreSQL's programs, by its major version."""
PATIENCE = 24 * 3600
"""Seconds for a start."""
POLL = 0.1


class BackupError(ExplainedError):
    """A backup cannot be restored or checked; the text is one line that says what to do."""


def account() -> Account:
    """The current user, or ADMINISTRATOR for root. Raises BackupError, EmbeddedPostgresError."""
    if os.geteuid() != 0:
        return current_account()
    try:
        return by_name(ADMINISTRATOR)
    except KeyError:
        raise BackupError(
            f"PostgreSQL does not run as root, and there is no user '{ADMINISTRATOR}': run this as "
            "the user who runs PostgreSQL"
        ) from None


def programs_of(version: str, folders: tuple[str, ...] = PROGRAMS) -> Path:
    """The folder with PostgreSQL's programs of a major version. Raises BackupError."""
    named = [folder.format(version) for folder in folders]
    for folder in map(Path, named):
        if folder.is_dir():
            return folder
    raise BackupError(
        f"the programs of PostgreSQL {version} are not in {' or '.join(named)}: install the server "
        "of the version that was backed up"
    )


def program(name: str) -> str:
    """The path of a program. Raises BackupError."""
    found = shutil.which(name)
    if found is None:
        raise BackupError(f"{name} is not installed (on Debian: apt-get install {name})")
    return found


def run(user: Account, command: list[str], failure: str) -> str:
    """What the command prints. Raises BackupError with ``failure`` and the first error."""
    done = user.run(command, environment=environment())
    if done.returncode != 0:
        raise BackupError(f"{failure}: {error_lines(done.stdout)[0]}")
    return done.stdout


def environment() -> dict[str, str]:
    """The variables that hold options of pgBackRest, such as the keys of a repository."""
    return {name: value for name, value in os.environ.items() if name.startswith("PGBACKREST_")}


class Cluster(Struct, frozen=True):
    """``sockets``: a folder that only the user can enter."""

    data: Path
    sockets: Path
    programs: Path
    user: Account

    def url(self, database: str, role: str = ADMINISTRATOR, **settings: str) -> str:
        where = {"host": str(self.sockets), **settings}
        return f"postgresql://{role}@/{database}?{urlencode(where)}"

    def run(self, name: str, *arguments: str) -> str:
        """What a program of PostgreSQL prints. Raises BackupError."""
        return run(self.user, [str(self.programs / name), *arguments], f"{name} failed")

    def start(self, settings: Mapping[str, str]) -> None:
        """Returns when the server accepts connections and has replayed all the WAL it should. The
        settings take precedence over those of its files. Raises BackupError."""
        options = {
            **settings,
            # Without it, a server accepts connections only when it has replayed the WAL, and its
            # limits need not be those of the primary.
            "hot_standby": "off",
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "port": "5432",
        }
        log = self.data.parent / f"{self.data.name}.log"
        command = [str(self.programs / "pg_ctl"), "-D", str(self.data), "start", "-s", "-w"]
        command += ["-t", str(PATIENCE), "-l", str(log), "-o", option_line(options)]
        done = self.user.run(command, environment=environment())
        # pg_ctl does not wait for the end of the replay.
        if done.returncode != 0 or not self._becomes_ready():
            output = log.read_text(errors="replace") if log.exists() else done.stdout
            raise BackupError(f"PostgreSQL does not start on {self.data}: {error_lines(output)[0]}")

    def _becomes_ready(self) -> bool:
        """False if the server ends before."""
        command = [str(self.programs / "pg_isready"), "-q", "-h", str(self.sockets)]
        while self.user.run(command).returncode != 0:
            if not (self.data / "postmaster.pid").exists():
                return False
            time.sleep(POLL)
        return True

    def stop(self, mode: str = "fast") -> None:
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", str(self.data), "stop", "-s", "-w", "-m", mode)
