"""Back to the read model that was live before the last switch, caught up first."""

from __future__ import annotations

from projector.checkpoint import Checkpoint
from projector.log import Halted, Log
from projector.rebuild.build import BuildSettings, drop
from projector.rebuild.rebuild import connections, put_in_place
from projector.rebuild.switch import BACK_TO_PREVIOUS
from projector.rebuild.work import Tell, at_work
from projector.writer import Writer
from read_side.schema import DISCARDED, PREVIOUS, SHAPE
from write_side.postgres.statements import statement
from write_side.store.mapper import EventMapper

_EXISTS = "SELECT to_regclass('read_model_previous.checkpoint') IS NOT NULL"


class NothingToGoBackTo(Exception):
    """There is no previous read model, or none that this code can project into."""


async def rollback(settings: BuildSettings, tell: Tell) -> int:
    """Switch back; returns the position of what is live then. A second one takes it back.

    Reads never go back in time: the previous read model is brought up to the live one first.
    Raises NothingToGoBackTo, Halted, AtWork.
    """
    async with (
        at_work(settings.read_model_url, "rollback", tell) as work,
        connections(settings, PREVIOUS) as (store, model),
    ):
        if not await model.fetchval(_EXISTS):
            raise NothingToGoBackTo("there is no previous read model: only a rebuild leaves one")
        await drop(model, DISCARDED)
        row = await model.fetchrow(statement("projector", "begin_epoch"))
        assert row is not None
        if row["shape"] != SHAPE:
            raise NothingToGoBackTo(
                "the previous read model has another shape than this version writes: "
                "roll back with the version that it was made by"
            )
        log = Log(store, EventMapper())
        checkpoint = Checkpoint.of(row)
        try:
            await log.check(checkpoint)
        except Halted as restored:
            raise NothingToGoBackTo(
                f"the previous read model is not of this log: {restored}"
            ) from restored
        writer = Writer(model, row["epoch"])
        checkpoint = await put_in_place(
            store, model, log, writer, checkpoint, work, BACK_TO_PREVIOUS
        )
        return checkpoint.position
