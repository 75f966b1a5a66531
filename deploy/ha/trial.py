"""`deploy/ha/trial [ROUNDS]`: kills, freezes and cuts off the leader under load, and proves that no
acknowledged write was lost and none was made twice."""

from __future__ import annotations

import asyncio
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import asyncpg
import click
from msgspec import Struct

from deploy.ha.cluster import Cluster, Node, TrialImpossible, cluster
from deploy.ha.service import SECRET, Installation
from deploy.ha.workload import CLIENTS, Ledger, LogOfTrial, read, write
from write_side.postgres.connection import Connection, connect

FAULT = 20.0
"""Seconds for which a node is away: longer than the leader's lease."""
RECOVERY = 60.0
"""Seconds within which writes must go on."""
_CREATE_ROLE = "SELECT format('CREATE ROLE content LOGIN PASSWORD %L', $1::text)"


class Round(Struct, frozen=True):
    """``writes`` and ``reads``: seconds without an answered one."""

    fault: str
    leader: str
    writes: float
    reads: float


class Fault(Struct, frozen=True):
    name: str
    begin: Callable[[Node], None]
    end: Callable[[Node], None]


FAULTS = (
    Fault("kill", Node.kill, Node.start),
    Fault("freeze", Node.freeze, Node.thaw),
    Fault("cut off", Node.cut_off, Node.reconnect),
)


class Violation(Exception):
    """A write was lost or made twice, or positions have a gap."""


async def run(rounds: int, report: Callable[[str], None]) -> list[Round]:
    """Raises TrialImpossible, Violation, TimeoutError."""
    with tempfile.TemporaryDirectory() as name, cluster() as found:
        await _create_database(found)
        contentlog = Installation(found.url, found.owner_url, found.url)
        with contentlog.service(Path(name)) as url:
            ledger = Ledger()
            clients = [asyncio.create_task(write(url, SECRET, ledger)) for _ in range(CLIENTS)]
            clients.append(asyncio.create_task(read(url, SECRET, ledger)))
            try:
                await _acknowledged(ledger, 20)
                done = []
                for number in range(rounds):
                    done.append(await _round(found, FAULTS[number % len(FAULTS)], ledger))
                    report(_line(number, done[-1], ledger))
            finally:
                for client in clients:
                    client.cancel()
                await asyncio.gather(*clients, return_exceptions=True)
            await check(found, ledger)
            report(
                f"{len(ledger.acknowledged):,} acknowledged writes: none lost, none twice, no gap"
            )
            return done


async def _create_database(found: Cluster) -> None:
    owner = await asyncpg.connect(found.owner_url.replace("/content?", "/postgres?"))
    try:
        await owner.execute("CREATE DATABASE content")
        await owner.execute(await owner.fetchval(_CREATE_ROLE, found.password))
        await owner.execute("GRANT CREATE ON DATABASE content TO content")
    finally:
        await owner.close()


async def _round(found: Cluster, fault: Fault, ledger: Ledger) -> Round:
    leader = await asyncio.to_thread(found.wait_until_whole)
    await _acknowledged(ledger, 20)
    began = time.monotonic()
    fault.begin(leader)
    try:
        await asyncio.sleep(FAULT)
    finally:
        fault.end(leader)
    await _acknowledged(ledger, 50)
    ended = time.monotonic()
    writes = ledger.longest_pause(began, ended)
    return Round(fault.name, leader.name, writes, ledger.longest_pause_of_reads(began, ended))


async def _acknowledged(ledger: Ledger, more: int) -> None:
    """Waits until so many more writes are acknowledged."""
    wanted = len(ledger.acknowledged) + more
    async with asyncio.timeout(RECOVERY):
        while len(ledger.acknowledged) < wanted:
            await asyncio.sleep(0.05)


async def check(found: Cluster, ledger: Ledger) -> None:
    """Raises Violation."""
    await asyncio.to_thread(found.wait_until_whole)
    connection = await _writable(found)
    try:
        log = await LogOfTrial.read(connection)
    finally:
        await connection.close()
    lost, missing = log.lost(ledger.acknowledged), log.head - log.events
    if lost or log.twice or missing:
        raise Violation(f"{len(lost)} lost, {len(log.twice)} twice, {missing} positions missing")


async def _writable(found: Cluster) -> Connection:
    """A connection to the leader, which may just have changed."""
    async with asyncio.timeout(RECOVERY):
        while True:
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                return await connect(found.url)
            await asyncio.sleep(1)


def _line(number: int, done: Round, ledger: Ledger) -> str:
    return (
        f"round {number + 1}: {done.fault} {done.leader}: {done.writes:.1f} s without a write, "
        f"{done.reads:.1f} s without a read; {len(ledger.acknowledged):,} acknowledged, "
        f"{ledger.failures:,} requests failed and were repeated"
    )


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2 * len(FAULTS)
    try:
        done = asyncio.run(run(rounds, click.echo))
    except TrialImpossible as error:
        sys.exit(f"deploy/ha/trial: {error}")
    for name in dict.fromkeys(one.fault for one in done):
        rounds_of = [one for one in done if one.fault == name]
        writes = _shown([one.writes for one in rounds_of])
        reads = _shown([one.reads for one in rounds_of])
        click.echo(
            f"{name}, {len(rounds_of)} rounds: without a write {writes}; without a read {reads}"
        )


def _shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} s (median), {max(seconds):.1f} s (at most)"


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
