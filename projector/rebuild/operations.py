"""Rebuild, rollback and verify: one at a time on a database, while reads and writes continue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from projector.checkpoint import begin_epoch
from projector.log import Halted, Log
from projector.process import connected_model
from projector.rebuild.build import Build, BuildSettings, drop_read_model
from projector.rebuild.comparison import LiveModel, compare
from projector.rebuild.progress import Operation, Report, exclusive_operation
from projector.rebuild.switch import TO_NEXT, TO_PREVIOUS, Candidate
from read_side.schema import (
    DISCARDED,
    NEXT,
    PREVIOUS,
    SCRATCH,
    ShapeMismatch,
    WorkspacesMismatch,
    described,
)
from write_side.domain.refusals import ExplainedError, count
from write_side.postgres.connection import Connection, connected
from write_side.postgres.faults import FAULTS
from write_side.verification.claim_check import Difference, claim_differences

_HAS_PREVIOUS = "SELECT to_regclass('read_model_previous.checkpoint') IS NOT NULL"


class ReadModelMismatch(Exception):
    """The rebuilt read model differs from the live one, and nothing was switched. ``reason`` calls
    it "the new one"."""

    def __init__(self, differences: list[Difference], reason: str) -> None:
        super().__init__(reason)
        self.differences = differences


class NoPreviousReadModel(ExplainedError):
    """There is no previous read model, or none that this version can write."""


class RebuildResult(Struct, frozen=True):
    """``not_compared``: why the live read model was not compared, or None."""

    position: int
    differences: list[Difference]
    not_compared: str | None


class VerificationResult(Struct, frozen=True):
    """``not_compared``: why the read model was not compared, or None."""

    position: int
    read_model: list[Difference]
    not_compared: str | None
    claims: list[Difference]


async def rebuild(
    settings: BuildSettings, *, accept_differences: bool, report: Report
) -> RebuildResult:
    """Replays the log into a new read model, compares it with the live one, and switches to it.

    The old one is kept for ``rollback``. Raises ReadModelMismatch, Halted, Inconsistent,
    WorkerDied, CheckpointConflict, OperationInProgress, and PostgreSQL's errors. The live read
    model is then unchanged, and the next rebuild drops what this one left.
    """
    async with _prepared(settings, "rebuild", NEXT, report) as (store, model, operation):
        await drop_read_model(model, DISCARDED)
        live = await LiveModel.read(settings.read_model_url, Log(store), settings.workspaces)
        candidate = await Build(settings, NEXT, store, model, operation).make(live.through)
        found = await compare(settings.read_model_url, live, candidate, operation)
        if not accept_differences and not live.is_empty:
            _refuse_differences(live, found)
        await candidate.go_live(TO_NEXT, operation)
        with suppress(*FAULTS):  # the switch is done, and the next rebuild drops it too
            await drop_read_model(model, DISCARDED)
        return RebuildResult(candidate.checkpoint.position, found, live.not_comparable)


def _refuse_differences(live: LiveModel, found: list[Difference]) -> None:
    advice = "check the reason, then accept with --accept-differences"
    if live.not_comparable is not None:
        reason = f"the new one cannot be compared with it ({live.not_comparable}): {advice}"
        raise ReadModelMismatch([], reason)
    if found:
        reason = f"the new one differs in {count(len(found), 'row')}: {advice}"
        raise ReadModelMismatch(found, reason)


async def rollback(settings: BuildSettings, report: Report) -> int:
    """Switches to the previous read model, or back; returns the position of the live one.

    Reads never go back in time, because the previous read model is first brought up to date.
    Raises NoPreviousReadModel, Halted, OperationInProgress.
    """
    async with _prepared(settings, "rollback", PREVIOUS, report) as (store, model, operation):
        if not await model.fetchval(_HAS_PREVIOUS):
            raise NoPreviousReadModel("there is no previous read model: only a rebuild leaves one")
        await drop_read_model(model, DISCARDED)
        try:
            epoch, checkpoint = await begin_epoch(model, settings.workspaces)
        except ShapeMismatch as error:
            raise NoPreviousReadModel(
                "the previous read model has a different shape than this version writes: roll back "
                "with the version that made it"
            ) from error
        except WorkspacesMismatch as error:
            raise NoPreviousReadModel(
                f"the previous read model holds {described(error.actual)}: roll back with the "
                "settings that it was made with"
            ) from error
        candidate = Candidate(store, model, epoch, checkpoint, settings.workspaces)
        try:
            await candidate.log.check(checkpoint)
        except Halted as restored:
            raise NoPreviousReadModel(
                f"the previous read model is not of this log: {restored}"
            ) from restored
        await candidate.go_live(TO_PREVIOUS, operation)
        return candidate.checkpoint.position


async def verify(settings: BuildSettings, report: Report) -> VerificationResult:
    """Compares the read model and the claims with the log, and changes nothing.

    Raises Halted or Inconsistent if the log itself cannot be replayed, and OperationInProgress.
    """
    async with _prepared(settings, "verify", SCRATCH, report) as (store, model, operation):
        live = await LiveModel.read(settings.read_model_url, Log(store), settings.workspaces)
        candidate = await Build(settings, SCRATCH, store, model, operation).make(live.through)
        found = await compare(settings.read_model_url, live, candidate, operation)
        await drop_read_model(model, SCRATCH)
        claims = await claim_differences(store, operation)
        nothing_to_compare = live.is_empty and live.through == 0
        not_compared = None if nothing_to_compare else live.not_comparable
        return VerificationResult(candidate.checkpoint.position, found, not_compared, claims)


@asynccontextmanager
async def _prepared(
    settings: BuildSettings, name: str, schema: str, report: Report
) -> AsyncIterator[tuple[Connection, Connection, Operation]]:
    async with (
        exclusive_operation(
            settings.read_model_url, name, report, settings.workspaces, settings.engine
        ) as operation,
        connections(settings, schema) as (store, model),
    ):
        yield store, model, operation


@asynccontextmanager
async def connections(
    settings: BuildSettings, schema: str
) -> AsyncIterator[tuple[Connection, Connection]]:
    """Connections to the event store, and to the read models' database with this schema as
    search_path."""
    async with (
        connected(settings.event_store_url, timeout=20) as store,
        connected_model(settings.read_model_url, schema) as model,
    ):
        yield store, model
