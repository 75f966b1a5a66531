"""Restores a backup elsewhere, and checks its event stores like `contentlog verify`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path

import asyncpg
from msgspec import Struct

from deploy.backup.cluster import BackupError, Cluster, programs_of
from deploy.backup.pgbackrest import Backup, Stanza
from deploy.embedded.postmaster import NOT_DURABLE
from deploy.stopping import ignore_stops, uninterrupted_end
from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import VerificationResult, verify
from projector.rebuild.progress import Report
from write_side.postgres.connection import connected

SPARE = 1024**3
"""Bytes of WAL that PostgreSQL keeps while it replays more."""
SCRATCH = "contentlog_backup_verify"
"""The database of the read model that is built from the log."""
SETTINGS = {
    # What the server that was backed up does must not happen twice: it archives, waits for its
    # standbys, follows a primary, and loads libraries that this machine may not have.
    "archive_mode": "off",
    "synchronous_standby_names": "",
    "primary_conninfo": "",
    "shared_preload_libraries": "",
    "logging_collector": "off",
    "ssl": "off",
    # The folder is removed at the end.
    **NOT_DURABLE,
    "max_wal_size": "1GB",
    "timezone": "UTC",
    "lc_messages": "C",
    "log_min_error_statement": "panic",
}
_STORES = "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1"
_HAS_STORE = "SELECT to_regclass('write_side.event') IS NOT NULL"
_CREATE = f"CREATE DATABASE {SCRATCH} TEMPLATE template0 ENCODING 'UTF8'"
_NEWEST = "SELECT nullif(at, 'epoch'), clock_timestamp() FROM write_side.head"


class VerifiedStore(Struct, frozen=True):
    """An event store in a backup. ``newest_event``: its time, None for an empty log. ``age``:
    seconds since then."""

    database: str
    newest_event: datetime | None
    age: float | None
    verified: VerificationResult


async def verify_backup(
    cluster: Cluster, role: str, workers: int, memory: int, report: Report
) -> list[VerifiedStore]:
    """Checks each event store of a restored cluster. Raises BackupError if it has none, and what
    ``verify`` raises."""
    stores = await _stores(cluster, role)
    if not stores:
        raise BackupError(
            "no database of the backup has an event store: check the stanza, or back up the server "
            "of CONTENTLOG_EVENT_STORE_URL"
        )
    found = []
    for database in stores:
        # Nothing may repair what the backup has.
        url = cluster.url(database, role, default_transaction_read_only="on")
        async with connected(url, timeout=20) as store:
            row = await store.fetchrow(_NEWEST)
        assert row is not None
        newest, now = row
        age = (now - newest).total_seconds() if newest else None
        async with _scratch(cluster, role) as scratch:
            build = BuildSettings(
                event_store_url=url, read_model_url=scratch, workers=workers, memory=memory
            )
            verified = await verify(build, report)
        found.append(VerifiedStore(database, newest, age, verified))
    return found


@contextmanager
def restored_copy(stanza: Stanza, backup: Backup, parent: Path) -> Iterator[Cluster]:
    """A server with the backup and all of the WAL archive, in a new folder that is removed at the
    end. Raises BackupError."""
    check_place(parent)
    programs = programs_of(backup.version)
    with uninterrupted_end() as stack:
        home = stack.enter_context(_folder(stanza, parent))
        check_space(parent, backup.size)
        sockets = stack.enter_context(_folder(stanza, Path(tempfile.gettempdir())))
        data = home / "data"
        cluster = Cluster(data, sockets, programs, stanza.user)
        stack.callback(cluster.stop, "immediate")
        # If interrupted, the cleanup could leave the server running, or part of the folders.
        stack.callback(ignore_stops)
        chosen = (f"--set={backup.label}", f"--repo={backup.repository}", "--type=default")
        # A restore removes the stanza's files from the folder of the queue.
        folders = (f"--spool-path={home / 'spool'}", f"--lock-path={home / 'locks'}")
        stanza.restore(data, *chosen, *folders, "--archive-mode=off")
        rules, none = home / "pg_hba.conf", home / "none.conf"
        # Only the user can enter the folder of the socket.
        rules.write_text("local all all trust\n")
        none.write_text("")
        # In a package of Debian these files are not in the cluster's folder.
        files = {"config_file": none, "hba_file": rules, "ident_file": none}
        settings = {**SETTINGS, **{name: str(file) for name, file in files.items()}}
        cluster.start({**settings, "restore_command": stanza.restore_command(data)})
        yield cluster


@contextmanager
def _folder(stanza: Stanza, parent: Path) -> Iterator[Path]:
    """A new folder that only the user of the stanza (and root) can enter."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="contentlog-backup-", dir=parent))
    except OSError as error:
        raise BackupError(
            f"cannot make a folder in '{parent}' ({error.strerror}): choose another with --data"
        ) from error
    try:
        if stanza.user.is_other:
            shutil.chown(folder, stanza.user.uid, stanza.user.gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_place(folder: Path) -> None:
    """Raises BackupError for a folder in a cluster of PostgreSQL."""
    for parent in (folder.resolve(), *folder.resolve().parents):
        if (parent / "PG_VERSION").exists():
            raise BackupError(
                f"'{folder}' is in the cluster '{parent}' of PostgreSQL: choose another with --data"
            )


def check_space(folder: Path, size: int) -> None:
    """Checks that the folder has room for the cluster and for a read model, which is smaller than
    its log and its indexes. Raises BackupError."""
    free, needed = shutil.disk_usage(folder).free, 2 * size + SPARE
    if free < needed:
        raise BackupError(
            f"the disk of '{folder}' has {free / 1024**3:.1f} GiB free, and a restore aside takes "
            f"up to {needed / 1024**3:.1f} GiB: free some space, or choose a folder with --data"
        )


async def _stores(cluster: Cluster, role: str) -> list[str]:
    try:
        async with connected(cluster.url("template1", role), timeout=20) as connection:
            names = [row["datname"] for row in await connection.fetch(_STORES)]
    except asyncpg.InvalidAuthorizationSpecificationError as error:
        raise BackupError(
            f"the backup has no role '{role}': name its superuser with --role"
        ) from error
    found = []
    for name in names:
        async with connected(cluster.url(name, role), timeout=20) as connection:
            if await connection.fetchval(_HAS_STORE):
                found.append(name)
    return found


@asynccontextmanager
async def _scratch(cluster: Cluster, role: str) -> AsyncIterator[str]:
    """The URL of a new database."""
    async with connected(cluster.url("template1", role), timeout=20) as connection:
        await connection.execute(_CREATE)
        try:
            yield cluster.url(SCRATCH, role)
        finally:
            await connection.execute(f"DROP DATABASE {SCRATCH} WITH (FORCE)")
