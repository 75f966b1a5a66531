"""`contentlog backup`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from deploy.failures import Failed
from deploy.progress import progress, show_differences, show_result
from deploy.runner import command_settings, json_option, utc_minute
from deploy.settings import Settings
from deploy.stopping import run_stoppable
from write_side.domain.refusals import count

if TYPE_CHECKING:
    from deploy.backup.pgbackrest import Backup, Stanza
    from deploy.backup.verification import VerifiedStore


@click.group("backup", epilog="\b\nExample:\n  contentlog backup verify --stanza contentlog")
def backup_command() -> None:
    """Check the backups of the event store that pgBackRest has taken.

    deploy/docs/operations.md says how to set up backups and how to restore them.
    """


@backup_command.command(
    epilog="\b\nExample:\n  contentlog backup verify --stanza contentlog --data /var/tmp"
)
@click.option("--stanza", help="The stanza of pgBackRest.  [default: CONTENTLOG_BACKUP_STANZA]")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The configuration of pgBackRest.  [default: CONTENTLOG_BACKUP_CONFIG]",
)
@click.option(
    "--data",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder in which a temporary folder is created.  [default: CONTENTLOG_BACKUP_DATA]",
)
@click.option("--role", default="postgres", show_default=True, help="A superuser of the cluster.")
@json_option
def verify(
    stanza: str | None, config: Path | None, data: Path | None, role: str, as_json: bool
) -> None:
    """Restore the newest backup into a new folder, and check its log.

    Restores it with all of the WAL archive, and starts PostgreSQL there on a socket, without
    archiving. Builds a read model from the log, and compares the claims with it, as `contentlog
    verify` does. Then removes the folder. The server that was backed up is not touched,
    and need not exist any more.

    Run it as the user who may read the configuration and the repository. As root, it runs the
    programs of pgBackRest and PostgreSQL as the user postgres.
    """
    options = {"backup_stanza": stanza, "backup_config": config, "backup_data": data}
    set_options = {name: str(value) for name, value in options.items() if value}
    _verify(replace(command_settings(), **set_options), role, as_json)


def _verify(settings: Settings, role: str, as_json: bool) -> None:
    from deploy.backup.cluster import account
    from deploy.backup.pgbackrest import Stanza
    from deploy.backup.verification import restored_copy, verify_backup

    config = Path(settings.backup_config) if settings.backup_config else None
    stanza = Stanza(settings.backup_stanza, config, account())
    backup = stanza.newest()
    if not as_json:
        click.echo(_described(stanza, backup))
    workers = settings.rebuild_workers or os.cpu_count() or 1
    with (
        restored_copy(stanza, backup, Path(settings.backup_data)) as cluster,
        progress(as_json=as_json) as report,
    ):
        found = run_stoppable(
            verify_backup(cluster, role, workers, settings.rebuild_memory, report)
        )
    for store in found:
        _show(backup, store, as_json=as_json)


def _described(stanza: Stanza, backup: Backup) -> str:
    return (
        f"backup {backup.label} of stanza '{stanza.name}', finished "
        f"{utc_minute(backup.finished)}, {backup.size / 1024**2:,.0f} MB, PostgreSQL "
        f"{backup.version}: restoring it and the WAL archive"
    )


def _show(backup: Backup, store: VerifiedStore, *, as_json: bool) -> None:
    claims = store.verified.claims
    show_differences(claims, as_json=as_json)
    show_result(
        None,
        as_json=as_json,
        backup=backup.label,
        finished=backup.finished,
        database=store.database,
        position=store.verified.position,
        newestEvent=store.newest_event,
        ageSeconds=store.age,
        claims=len(claims),
    )
    if claims:
        raise Failed(
            f"backup {backup.label}: claims, usage or snapshots differ from the log of database "
            f"'{store.database}' in {count(len(claims), 'row')}; "
            "after a restore, run `contentlog verify --repair`"
        )
    if not as_json:
        click.echo(
            f"database '{store.database}': {count(store.verified.position, 'event')} without a "
            f"gap, claims agree; the newest event is {_age(store)}"
        )


def _age(store: VerifiedStore) -> str:
    if store.newest_event is None or store.age is None:
        return "none: the log is empty"
    return f"of {store.newest_event:%Y-%m-%d %H:%M:%S} UTC, {_duration(store.age)} old"


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
