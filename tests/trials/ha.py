"""`deploy/ha/trial`: kills, freezes and cuts off the leader under load, and checks that no
acknowledged write was lost or made twice."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import click
import msgspec
from msgspec import Struct

from tests.trials.ha_cluster import HOME, Cluster, TrialImpossible, cluster
from tests.trials.ha_rounds import FAULTS, RECOVERY, WARM, Round, round_of
from tests.trials.service import SECRET, CommandFailed, Installation
from tests.trials.workload import CLIENTS, Ledger, LogOfTrial, read, write
from write_side.postgres.connection import Connection, connect

_CREATE_ROLE = "SELECT format('CREATE ROLE content LOGIN PASSWORD %L', $1::text)"
_SOURCE = Path(__file__).parent


class Line(Struct, frozen=True):
    """A line of the record: the source's commit, the load average of the last minute, the writes
    acknowledged in the round, and its times."""

    commit: str
    load: float
    acknowledged: int
    round: Round


class Violation(Exception):
    """A write was lost or made twice, or positions have a gap."""


async def run(rounds: int, record: Path | None, report: Callable[[str], None]) -> list[Line]:
    """Runs the rounds that the record lacks, and returns the lines of all rounds.

    Raises TrialImpossible, Violation, TimeoutError.
    """
    done = _recorded(record)
    if len(done) >= rounds:
        return done
    commit = _commit()
    async with _load() as (found, ledger):
        before = 0
        for number in range(len(done), rounds):
            measured = await round_of(found, FAULTS[number % len(FAULTS)], ledger)
            await check(found, ledger)
            writes = len(ledger.acknowledged) - before
            before += writes
            done.append(Line(commit, os.getloadavg()[0], writes, measured))
            report(f"round {number + 1}: {_text(done[-1])}")
            if record:
                with record.open("ab") as file:
                    file.write(msgspec.json.encode(done[-1]) + b"\n")
    return done


def _recorded(record: Path | None) -> list[Line]:
    if record is None or not record.exists():
        return []
    return [msgspec.json.decode(line, type=Line) for line in record.read_bytes().splitlines()]


def _commit() -> str:
    """The commit, with "-dirty" if files have changed."""
    command = ["git", "-C", str(_SOURCE), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


@asynccontextmanager
async def _load() -> AsyncIterator[tuple[Cluster, Ledger]]:
    """Starts a cluster, contentlog and its clients. Yields the cluster and the ledger of writes."""
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(cluster())
        await _create_database(found)
        folder = HOME / "contentlog"
        folder.mkdir()
        contentlog = Installation(found.url, found.owner_url, found.url)
        url = stack.enter_context(contentlog.service(folder))
        ledger = Ledger()
        clients = [asyncio.create_task(write(url, SECRET, ledger)) for _ in range(CLIENTS)]
        clients.append(asyncio.create_task(read(url, SECRET, ledger)))
        try:
            await ledger.wait_for_more(WARM, RECOVERY)
            yield found, ledger
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)


async def _create_database(found: Cluster) -> None:
    owner = await asyncpg.connect(found.owner_url.replace("/content?", "/postgres?"))
    try:
        await owner.execute("CREATE DATABASE content")
        await owner.execute(await owner.fetchval(_CREATE_ROLE, found.password))
        await owner.execute("GRANT CREATE ON DATABASE content TO content")
    finally:
        await owner.close()


async def check(found: Cluster, ledger: Ledger) -> None:
    """Compares the log with the ledger. Raises Violation."""
    await found.wait_until_whole()
    written = list(ledger.acknowledged)
    connection = await _writable(found)
    try:
        log = await LogOfTrial.read(connection)
    finally:
        await connection.close()
    lost, missing = log.lost(written), log.head - log.events
    if lost or log.twice or missing:
        raise Violation(f"{len(lost)} lost, {len(log.twice)} twice, {missing} positions missing")


async def _writable(found: Cluster) -> Connection:
    """Connects to the leader, which may have just changed."""
    async with asyncio.timeout(RECOVERY):
        while True:
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                return await connect(found.url)
            await asyncio.sleep(1)


def _text(line: Line) -> str:
    one = line.round
    return (
        f"{one.fault}: a new leader after {one.leader:.1f} s, its standby {one.standby:.1f} s, "
        f"an entry visible {one.visible:.1f} s; {one.writes:.1f} s without a write, "
        f"{one.reads:.1f} s without a read; {line.acknowledged:,} writes; load {line.load:.1f}"
    )


def summary(lines: list[Line]) -> str:
    """Returns the median and maximum for each fault, as a Markdown table."""
    measures = ("leader", "standby", "writes", "reads", "visible")
    table = [f"| fault | rounds | {' | '.join(measures)} |", f"|---|--:|{'--:|' * len(measures)}"]
    for name, rounds in Counter(line.round.fault for line in lines).items():
        found = [line.round for line in lines if line.round.fault == name]
        cells = [_shown([getattr(one, measure) for one in found]) for measure in measures]
        table.append(f"| {name} | {rounds} | {' | '.join(cells)} |")
    loads = [line.load for line in lines]
    commits = ", ".join(dict.fromkeys(line.commit for line in lines))
    return "\n".join(
        [
            f"{sum(line.acknowledged for line in lines):,} acknowledged writes: none lost, none "
            f"twice, no gap. Seconds, median and at most; commit {commits}; load {min(loads):.1f} "
            f"to {max(loads):.1f}",
            *table,
        ]
    )


def _shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} / {max(seconds):.1f}"


@click.command()
@click.argument("rounds", type=click.IntRange(min=1), default=2 * len(FAULTS))
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file with a line for each round. With an existing one, the trial continues.",
)
def main(rounds: int, record: Path | None) -> None:
    """Kills, freezes and cuts off the leader of three PostgreSQL nodes under load. Needs root."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        lines = asyncio.run(run(rounds, record, click.echo))
    except (TrialImpossible, CommandFailed) as error:
        sys.exit(f"deploy/ha/trial: {error}")
    except TimeoutError:
        sys.exit(f"deploy/ha/trial: the cluster or the writes did not recover in {RECOVERY:.0f} s")
    except Violation as error:
        sys.exit(f"deploy/ha/trial: VIOLATION: {error}")
    click.echo(summary(lines))


if __name__ == "__main__":
    main()
