"""`deploy/backup/drill`: destroys an event store under load, restores it, and reports what was
lost.

Clients create entries, the server is backed up, and its data is destroyed. Three restores follow: a
copy from the archive alone, as without a standby; in place, with the WAL of a synchronous receiver;
and in place, to an earlier moment. After each restore in place, the read model is rebuilt and
verified, and the clients repeat all creates.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import click
from msgspec import Struct

from deploy.backup.cluster import ADMINISTRATOR, BackupError, Cluster
from deploy.backup.verification import restored_copy, verify_backup
from tests.trials.drill_servers import ROLE, Drill, drill_servers
from tests.trials.ha_cluster import TrialImpossible
from tests.trials.service import SECRET, CommandFailed, Installation
from tests.trials.workload import CLIENTS, Ledger, LogOfTrial, repeat, write
from write_side.postgres.connection import connected

LOAD = 60
"""Acknowledged creates in each part of the drill."""
PATIENCE = 180.0
"""Seconds for a part of the drill to be acknowledged, and for contentlog to start."""
MEMORY = 64 * 1024 * 1024
HEADING = ("restored", "events", "acknowledged", "kept", "lost", "which", "seconds")
_SWITCH = "SELECT pg_walfile_name(pg_switch_wal())"
_ARCHIVED = "SELECT last_archived_wal >= $1 FROM pg_stat_archiver"
_NOW = "SELECT clock_timestamp()"


class Violation(Exception):
    """More was lost than expected, or an entry exists twice."""


class Restored(Struct, frozen=True):
    """The outcome of a restore. ``lost`` is the number of acknowledged creates that are missing,
    ``which`` describes those that may be lost, and ``seconds`` is the time until PostgreSQL accepts
    connections."""

    name: str
    events: int
    acknowledged: int
    lost: int
    which: str
    seconds: float

    def line(self) -> tuple[str, ...]:
        numbers = (self.events, self.acknowledged, self.acknowledged - self.lost, self.lost)
        return (self.name, *(f"{n:,}" for n in numbers), self.which, f"{self.seconds:.1f}")


class Marks(Struct, frozen=True):
    """Facts recorded under load. ``moment`` is in the middle of the load.

    ``before_moment`` has the creates acknowledged before it, and ``archived`` those acknowledged
    before the end of the last archived segment. ``kept_token`` and ``lost_token`` are change feed
    tokens from before and after the moment. ``lost_position`` is the position of a read after it.
    """

    moment: datetime
    before_moment: frozenset[str]
    archived: frozenset[str]
    kept_token: str
    lost_token: str
    lost_position: str


async def run(report: Callable[[str], None]) -> list[Restored]:
    """Runs the drill. Raises TrialImpossible, BackupError, Violation, TimeoutError,
    CommandFailed."""
    with drill_servers() as drill:
        store, model = drill.store, drill.model
        contentlog = Installation(store.url(ROLE, ROLE), store.url(ROLE), model.url(ROLE, ROLE))
        report("creating entries, and taking a full backup meanwhile")
        with contentlog.service(drill.home) as url:
            made, marks = await _load_and_destroy(drill, url)
        report(f"{len(made):,} acknowledged creates; the server's data is destroyed")

        outcomes = [await _restore_aside(drill, marks, made)]
        outcomes.append(await _restore_everything(drill, made))
        await _use(contentlog, drill, made)
        report("everything is there again; now a restore to a moment before")
        outcomes.append(await _restore_to_moment(drill, marks, made))
        await _use(contentlog, drill, made, marks)
        return outcomes


async def _load_and_destroy(drill: Drill, url: str) -> tuple[frozenset[str], Marks]:
    """Returns the acknowledged titles, and the marks."""
    ledger = Ledger()
    clients = [asyncio.create_task(write(url, SECRET, ledger)) for _ in range(CLIENTS)]
    try:
        await ledger.wait_for_more(LOAD, PATIENCE)
        await asyncio.to_thread(drill.stanza.run, "--type=full", "backup")
        # pgBackRest cannot restore to a moment within the second in which the backup ended.
        end = (await asyncio.to_thread(drill.stanza.newest)).finished + timedelta(seconds=1)
        await ledger.wait_for_more(LOAD, PATIENCE)
        async with asyncio.timeout(PATIENCE):
            while datetime.now(UTC) <= end:
                await asyncio.sleep(0.1)
        marks = await _marked(drill, url, ledger)
        await ledger.wait_for_more(LOAD, PATIENCE)
        await asyncio.to_thread(drill.destroy)
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    return frozenset(ledger.acknowledged), marks


async def _marked(drill: Drill, url: str, ledger: Ledger) -> Marks:
    _, kept_token, _ = await _get(f"{url}/v1/changes?after=now", "next")
    before_moment = frozenset(ledger.acknowledged)
    async with connected(drill.store.url(ROLE), timeout=60) as store:
        moment = await store.fetchval(_NOW)
        await ledger.wait_for_more(LOAD, PATIENCE)
        _, lost_token, _ = await _get(f"{url}/v1/changes?after=now", "next")
        _, _, lost_position = await _get(f"{url}/v1/content/posts?status=draft")
        archived = frozenset(ledger.acknowledged)
        segment = await store.fetchval(_SWITCH)
        async with asyncio.timeout(PATIENCE):
            while not await store.fetchval(_ARCHIVED, segment):
                await asyncio.sleep(0.1)
    return Marks(moment, before_moment, archived, kept_token, lost_token, lost_position)


async def _restore_aside(drill: Drill, marks: Marks, made: frozenset[str]) -> Restored:
    """Restores the backup to another folder, without the receiver's WAL."""
    began = time.monotonic()
    with restored_copy(drill.stanza, drill.stanza.newest(), drill.home) as cluster:
        seconds = time.monotonic() - began
        log = await _log(cluster)
        verified = await verify_backup(cluster, ADMINISTRATOR, 1, MEMORY, lambda _: None)
    if any(one.verified.claims for one in verified):
        raise Violation("in the backup, claims differ from the log")
    which = "after the last archived segment"
    return _checked("archive alone", log, made, made - marks.archived, which, seconds)


async def _restore_everything(drill: Drill, made: frozenset[str]) -> Restored:
    began = time.monotonic()
    drill.stanza.restore(drill.store.data, "--type=default")
    drill.start_store({"restore_command": drill.restore_command()})
    seconds = time.monotonic() - began
    log, which = await _log(drill.store), "none may be"
    return _checked("with a receiver's WAL", log, made, frozenset(), which, seconds)


async def _restore_to_moment(drill: Drill, marks: Marks, made: frozenset[str]) -> Restored:
    drill.stop_and_remove()
    began = time.monotonic()
    target = ("--type=time", f"--target={marks.moment.isoformat(sep=' ')}")
    drill.stanza.restore(drill.store.data, *target, "--target-action=promote")
    drill.start_store({})
    seconds = time.monotonic() - began
    log = await _log(drill.store)
    if log.newest > marks.moment:
        raise Violation(f"an event of {log.newest} is there after a restore to {marks.moment}")
    may_be_lost = made - marks.before_moment
    return _checked("to a moment", log, made, may_be_lost, "after the moment", seconds)


def _checked(
    name: str,
    log: LogOfTrial,
    made: frozenset[str],
    may_be_lost: frozenset[str],
    which: str,
    seconds: float,
) -> Restored:
    """Checks a restored log. Raises Violation."""
    lost = log.lost(made)
    if lost - may_be_lost or log.twice or log.events != log.head:
        raise Violation(
            f"{name}: {len(lost - may_be_lost)} lost that must be there, {len(log.twice)} twice, "
            f"{log.head - log.events} positions missing"
        )
    return Restored(name, log.events, len(made), len(lost), which, seconds)


async def _use(
    contentlog: Installation, drill: Drill, made: frozenset[str], marks: Marks | None = None
) -> None:
    """Rebuilds the read model, starts contentlog, and repeats the clients' creates: those in the
    log return their first response, and lost ones are created once. With ``marks``, checks the
    tokens. Raises Violation."""
    contentlog.run("rebuild", "--accept-differences")
    contentlog.run("verify")
    with contentlog.service(drill.home) as url:
        await _until_ready(url)
        if marks is not None:
            await _check_tokens(url, marks)
        async with asyncio.timeout(PATIENCE):
            await repeat(url, SECRET, made)
        log = await _log(drill.store)
        if log.lost(made) or log.twice or log.events != log.head:
            raise Violation(
                f"after repeating all creates, {len(log.lost(made))} are missing and "
                f"{len(log.twice)} are there twice"
            )
        if marks is not None:
            await _check_change_token(url, marks)
    contentlog.run("verify")


async def _check_tokens(url: str, marks: Marks) -> None:
    await _check_change_token(url, marks)
    status, _, _ = await _get(f"{url}/v1/changes?after={marks.kept_token}")
    position = {"X-Content-Position": marks.lost_position}
    ahead, _, _ = await _get(f"{url}/v1/content/posts", headers=position)
    if (status, ahead) != (200, 400):
        raise Violation(
            f"a token of the change feed from before the moment is {status}, and a position after "
            f"it {ahead}; 200 and 400 were expected"
        )


async def _check_change_token(url: str, marks: Marks) -> None:
    """A lost token must return 410, even if its position has been reused."""
    status, _, _ = await _get(f"{url}/v1/changes?after={marks.lost_token}")
    if status != 410:
        raise Violation(f"a token of the change feed from after the moment is {status}, not 410")


async def _get(url: str, member: str = "", headers: Mapping[str, str] = {}) -> tuple[int, str, str]:
    """Returns the status, a member of the body, and the position."""
    return await asyncio.to_thread(_ask, url, member, headers)


def _ask(url: str, member: str, headers: Mapping[str, str]) -> tuple[int, str, str]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {SECRET}", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            body = json.load(response)
            position = response.headers.get("X-Content-Position", "")
            return response.status, body[member] if member else "", position
    except urllib.error.HTTPError as error:
        return error.code, "", ""


async def _until_ready(url: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(OSError):
                if (await _get(f"{url}/readyz"))[0] == 200:
                    return
            await asyncio.sleep(0.2)


async def _log(cluster: Cluster) -> LogOfTrial:
    async with connected(cluster.url(ROLE), timeout=60) as store:
        return await LogOfTrial.read(store)


def table(outcomes: list[Restored]) -> list[str]:
    rows = [HEADING, *(one.line() for one in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        outcomes = asyncio.run(run(click.echo))
    except (TrialImpossible, BackupError, Violation, TimeoutError, CommandFailed) as error:
        sys.exit(f"deploy/backup/drill: {str(error) or type(error).__name__}")
    for line in table(outcomes):
        click.echo(line)
    click.echo(
        "after each restore in place, the read model was rebuilt, verify found no difference, and "
        "the clients repeated all creates: each is there once"
    )


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
