"""pgBackRest: which backups a stanza has, and how one is restored."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from deploy.backup.cluster import BackupError, program, run
from deploy.embedded.programs import Account

# Standard output is then JSON alone, and the account needs no folder for logs.
QUIET = ("--log-level-console=off", "--log-level-stderr=error", "--log-level-file=off")


class Backup(Struct, frozen=True):
    """``repository``: its number in the configuration. ``size``: of the cluster, in bytes.
    ``version``: of PostgreSQL."""

    label: str
    repository: int
    finished: datetime
    size: int
    version: str


class Stanza(Struct, frozen=True):
    """``configuration``: None for pgBackRest's own place."""

    name: str
    configuration: Path | None
    user: Account

    def command(self, *arguments: str) -> list[str]:
        chosen = [f"--config={self.configuration.absolute()}"] if self.configuration else []
        return [program("pgbackrest"), *chosen, f"--stanza={self.name}", *arguments]

    def run(self, *arguments: str) -> str:
        """What pgBackRest prints. Raises BackupError."""
        failure = f"pgbackrest {arguments[-1]} of stanza '{self.name}' failed"
        return run(self.user, self.command(*QUIET, *arguments), failure)

    def newest(self) -> Backup:
        """The newest backup. Raises BackupError."""
        return newest(self.name, self.run("--output=json", "info"))

    def restore(self, into: Path, *options: str) -> None:
        """Restores into a folder that is empty or does not exist, which the configuration need not
        name. Raises BackupError."""
        # Also where the configuration is that of a host of repositories.
        here = (f"--pg1-path={into}", "--reset-pg1-host")
        self.run(*here, f"--tablespace-map-all={into}-tablespaces", *options, "restore")

    def restore_command(self, into: Path) -> str:
        """PostgreSQL's setting. Not asynchronous, because the folder for that belongs to the
        server that is backed up."""
        options = (*QUIET, f"--pg1-path={into}", "--no-archive-async", "archive-get")
        command = shlex.join(self.command(*options)).replace("%", "%%")
        return f'{command} %f "%p"'


class _Times(Struct):
    stop: int


class _Size(Struct):
    size: int


class _Key(Struct, rename="kebab"):
    id: int
    repo_key: int


class _Backup(Struct):
    label: str
    timestamp: _Times
    info: _Size
    database: _Key
    error: bool | None = None


class _Version(_Key, rename="kebab"):
    version: str


class _Status(Struct):
    message: str


class _Stanza(Struct):
    backup: list[_Backup]
    db: list[_Version]
    status: _Status


def newest(stanza: str, info: str) -> Backup:
    """The newest backup in the output of `pgbackrest info --output=json`. Raises BackupError if
    there is none, or if it has damaged pages."""
    try:
        [found] = msgspec.json.decode(info, type=list[_Stanza])
    except (msgspec.DecodeError, ValueError) as error:
        raise BackupError(f"the output of pgbackrest info cannot be read: {error}") from error
    if not found.backup:
        raise BackupError(
            f"stanza '{stanza}' has no backup ({found.status.message}): check stanza and "
            "configuration, or take one with pgbackrest backup"
        )
    latest = max(found.backup, key=lambda backup: backup.timestamp.stop)
    if latest.error:
        raise BackupError(
            f"backup {latest.label} has pages with wrong checksums: pgbackrest info "
            f"--set={latest.label} lists the files; restore an older backup"
        )
    key = (latest.database.id, latest.database.repo_key)
    return Backup(
        latest.label,
        latest.database.repo_key,
        datetime.fromtimestamp(latest.timestamp.stop, UTC),
        latest.info.size,
        next(one.version for one in found.db if (one.id, one.repo_key) == key),
    )
