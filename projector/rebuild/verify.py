"""Proves that log, claims and read model agree: the log replayed apart, and compared with both."""

from __future__ import annotations

from msgspec import Struct

from projector.log import Log
from projector.rebuild.build import Build, BuildSettings, drop
from projector.rebuild.rebuild import Live, compare, connections
from projector.rebuild.work import Tell, at_work
from read_side.schema import SCRATCH
from write_side.store.mapper import EventMapper
from write_side.verification.claim_check import Difference, claims_that_differ
from write_side.verification.claim_repair import repair


class Verified(Struct, frozen=True):
    """``not_compared``: why the read model was not compared, or None where it was."""

    position: int
    read_model: list[Difference]
    not_compared: str | None
    claims: list[Difference]


async def verify(settings: BuildSettings, tell: Tell) -> Verified:
    """What differs from the log, at the position to which it was read; nothing is changed.

    Raises Halted or Inconsistent where the log itself cannot be replayed, and AtWork.
    """
    async with (
        at_work(settings.read_model_url, "verify", tell) as work,
        connections(settings, SCRATCH) as (store, model),
    ):
        log = Log(store, EventMapper())
        live = await Live.look(settings, log)
        writer, checkpoint = await Build(settings, SCRATCH, store, model, work).make(live.through)
        found, checkpoint = await compare(settings, live, log, writer, checkpoint, work)
        await drop(model, SCRATCH)
        claims = await claims_that_differ(store, work)
        nothing_to_compare = live.is_empty and live.through == 0
        not_compared = None if nothing_to_compare else live.not_comparable
        return Verified(checkpoint.position, found, not_compared, claims)


async def repair_claims(settings: BuildSettings, wrong: list[Difference]) -> int:
    """Set these rows of the claims to what the log says; returns how many.

    Appends wait meanwhile, so that no command is decided on a wrong claim.
    """
    async with connections(settings, SCRATCH) as (store, _):
        return await repair(store, wrong)
