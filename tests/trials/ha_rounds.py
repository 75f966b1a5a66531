"""One round of the trial: the leader fails under load, and each phase of the recovery is timed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from msgspec import Struct

from tests.trials.ha_cluster import Cluster, Node
from tests.trials.workload import Ledger

FAULT = 20.0
"""Seconds for which a node is away. Longer than the leader's lease."""
RECOVERY = 180.0
"""Seconds within which writes must resume, with a margin for a busy machine. Each round measures
the actual time."""
WARM = 20
"""Acknowledged writes before a fault."""
AFTER = 50
"""Acknowledged writes after the end of a fault."""


class Fault(Struct, frozen=True):
    name: str
    begin: Callable[[Node], None]
    end: Callable[[Node], None]


FAULTS = (
    Fault("kill", Node.kill, Node.start),
    Fault("freeze", Node.freeze, Node.thaw),
    Fault("cut off", Node.cut_off, Node.reconnect),
)


class Round(Struct, frozen=True):
    """Times in seconds.

    ``leader``, ``standby`` and ``visible`` are measured from the fault: until another node is the
    primary, until a standby follows it, and until a read shows an entry sent after the fault.
    ``writes`` and ``reads`` are the longest times without a successful one.
    """

    fault: str
    leader: float
    standby: float
    visible: float
    writes: float
    reads: float


async def round_of(found: Cluster, fault: Fault, ledger: Ledger) -> Round:
    """Runs a round. Raises TimeoutError if writes do not resume or do not become visible."""
    node = await found.wait_until_whole()
    await ledger.wait_for_more(WARM, RECOVERY)
    began = time.monotonic()
    fault.begin(node)
    try:
        leader, standby = await _replaced(found, node, began)
        await asyncio.sleep(began + FAULT - time.monotonic())
    finally:
        fault.end(node)
    await ledger.wait_for_more(AFTER, RECOVERY)
    visible = await _visible(ledger, began)
    ended = time.monotonic()
    return Round(
        fault=fault.name,
        leader=leader - began,
        standby=standby - began,
        visible=visible,
        writes=ledger.longest_pause(began, ended),
        reads=ledger.longest_pause_of_reads(began, ended),
    )


async def _replaced(found: Cluster, node: Node, began: float) -> tuple[float, float]:
    """Returns the times at which another node was the primary, and at which a standby followed
    it."""
    leader: float | None = None
    async with asyncio.timeout(RECOVERY):
        while True:
            lead = await asyncio.to_thread(found.lead, node)
            if lead is not None and leader is None:
                leader = time.monotonic()
            if lead is not None and lead.is_followed:
                return leader or began, time.monotonic()
            await asyncio.sleep(0.1)


async def _visible(ledger: Ledger, began: float) -> float:
    async with asyncio.timeout(RECOVERY):
        while (seconds := ledger.visible(began)) is None:
            await asyncio.sleep(0.05)
    return seconds
