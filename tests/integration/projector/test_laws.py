"""For any sequence of commands, the log, the responses, a rebuild and the specification agree,
whatever is killed, rebuilt or rolled back meanwhile and however the log is split into batches.

Hypothesis generates the commands, which are executed in the service and in a reference model of the
specification. The clock belongs to the test, so entries are created in the same millisecond and
time goes back. Limits are so low that code for large logs runs on small ones.
CONTENTLOG_TEST_LAWS=500 runs five hundred long examples, different ones each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from projector import background, entry_rows, entry_values, stored_rows, writer
from projector import rows as model_rows
from projector.checkpoint import CheckpointConflict
from projector.rebuild import build, switch
from projector.rebuild.operations import NoPreviousReadModel
from projector.rebuild.progress import Operation, OperationInProgress
from read_side import paging, past_versions
from read_side.checkpoint import fetch_checkpoint
from read_side.pool import open_pool
from read_side.schema import PREVIOUS
from read_side.stamp import position_of
from tests.databases import Databases
from tests.integration.live_projector import (
    connected,
    dump,
    head_of,
    project_all,
    until,
)
from tests.integration.projector import command_strategies as d
from tests.integration.projector.connection_faults import LOST, aborting
from tests.integration.projector.paired_commands import PairedCommands
from tests.integration.projector.read_model_views import ModelReader, compare_past
from tests.integration.projector.rebuilds import rebuild, rollback, schemas, silent
from tests.integration.projector.reference_model import Place
from tests.integration.projector.stepwise_projector import StepwiseProjector
from tests.store_clock import follow_clock
from write_side import repository
from write_side.repository import Repository
from write_side.store import log_reader
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder
from write_side.verification.claim_check import claim_differences

T = TypeVar("T")

MANY = int(os.environ.get("CONTENTLOG_TEST_LAWS", "0"))
IN_THE_SUITE = settings(
    max_examples=8,
    stateful_step_count=12,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
AT_LENGTH = settings(
    IN_THE_SUITE,
    max_examples=MANY or 1,
    stateful_step_count=20,
    derandomize=False,
    phases=[Phase.generate, Phase.shrink],
    print_blob=True,
)
BLOCKS = (2**62, 12, 6, 2)
MOMENTS = 9 if MANY else 2
"""The number of past times that are compared in each example."""
COUNTS = """
SELECT workspace, environment, content_type_id, status, language, n FROM read_model.entry_count
WHERE filters = 3 AND level = 0
EXCEPT ALL
SELECT workspace, environment, content_type_id, status, language, count(*)
FROM read_model.entry GROUP BY 1, 2, 3, 4, 5"""
KINDS = """
SELECT count(DISTINCT (workspace, environment, content_type_id, status, language))
FROM read_model.entry"""
COUNTED = "SELECT count(*) FROM read_model.entry_count WHERE filters = 3 AND level = 0"


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, bound in (
        (writer, "COPY_FROM", 3),
        (past_versions, "FEW", 3),
        (entry_rows, "PORTION", 300),
        (model_rows, "BLOCKS", BLOCKS),
        (build, "BLOCKS", BLOCKS),
        (stored_rows, "FEW", 1),
        (stored_rows, "LOADED_BYTES", 300),
        (stored_rows, "TYPES_KEPT", 1),
        (entry_values, "TYPES_KEPT", 1),
        (background, "CHUNK", 2),
        (paging, "DEEP", 3),
        (log_reader, "EVENTS_IN_A_RANGE", 9),
        (log_reader, "PAGE", 4),
        (switch, "CLOSE", 2),
        (repository, "CACHED_TYPES", 2),
    ):
        monkeypatch.setattr(module, name, bound)


@pytest.mark.slow
def test_the_laws_hold(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laws, "databases", databases, raising=False)
    run_state_machine_as_test(Laws, settings=AT_LENGTH if MANY else IN_THE_SUITE)


class Laws(RuleBasedStateMachine):
    """Executes each command in both, and compares."""

    databases: ClassVar[Databases]

    def __init__(self) -> None:
        super().__init__()
        self.projector: StepwiseProjector | None = None
        self.reached = 0
        self.revisions: list[d.DrawnCommand] = []
        self.more: list[d.DrawnCommand] = []
        self.sound = True
        self.stack = contextlib.ExitStack()
        self.url = self.stack.enter_context(self.databases.new())
        self.runner = self.stack.enter_context(asyncio.Runner())
        self.stack.callback(self._close_projector)
        self.pool = self._opened(open_pool(self.url))
        self.repository = Repository(self._opened(open_recorder(self.url)), EventMapper())
        self.runner.run(follow_clock(self.url))
        self.paired = PairedCommands(self.repository)

    def _opened(self, context: contextlib.AbstractAsyncContextManager[T]) -> T:
        opened = self.runner.run(context.__aenter__())
        self.stack.callback(lambda: self.runner.run(context.__aexit__(None, None, None)))
        return opened

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self.runner.run(work)
        except BaseException:
            self.sound = False
            raise

    def teardown(self) -> None:
        with self.stack:
            if self.sound:
                self.run(self._at_last())

    # Commands

    @initialize(beginnings=d.beginnings(), revisions=d.revisions(), more=d.commands())
    def begin(
        self,
        beginnings: list[d.Beginning],
        revisions: list[d.DrawnCommand],
        more: list[d.DrawnCommand],
    ) -> None:
        self.revisions, self.more = revisions, more
        self.run(self.paired.begin(beginnings))

    @rule(commands=d.commands())
    def execute(self, commands: list[d.DrawnCommand]) -> None:
        self.run(self.paired.execute(commands))

    # Operations

    @rule(batches=d.batches, renderings=d.renderings)
    def project(self, batches: list[int], renderings: int) -> None:
        self.run(self._project(batches, renderings))

    async def _project(self, batches: list[int], renderings: int) -> None:
        """Projects with a projector that continues until another one takes over."""
        if self.projector is None:
            self.projector = await StepwiseProjector.begin(self.url)
        try:
            await self.projector.project(batches, renderings)
        except CheckpointConflict:
            self._close_projector()
            await self._project(batches, renderings)
        assert await self._position() == await head_of(self.url)

    def _close_projector(self) -> None:
        if self.projector is not None:
            self.projector.close()
        self.projector = None

    @rule(
        commands=d.commands(),
        batch=st.integers(1, 9),
        statement=d.statements,
        renderings=d.renderings,
    )
    def project_and_die(
        self, commands: list[d.DrawnCommand], batch: int, statement: int, renderings: int
    ) -> None:
        self.run(self.paired.execute(commands))
        self._dying(statement, lambda: project_all(self.url, self.url, [batch], renderings))

    @rule(work=st.sampled_from([rebuild, rollback]), statement=st.none() | st.integers(1, 120))
    def switch(
        self, work: Callable[[str], Coroutine[Any, Any, object]], statement: int | None
    ) -> None:
        """Switches to another read model, or is killed while it does."""
        if work is rollback and PREVIOUS not in self.run(schemas(self.url)):
            work = nothing_to_go_back_to
        if statement is None:
            self.run(self._alone(lambda: work(self.url)))
            self.run(self._glance())
        else:
            self._dying(statement, lambda: work(self.url))

    def _dying(self, statement: int, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        async def dying() -> None:
            with contextlib.suppress(OperationInProgress, *LOST), aborting(statement):
                await work()

        self.run(dying())
        self.run(self._glance())

    async def _alone(self, work: Callable[[], Awaitable[object]]) -> None:
        """Waits until the session of the process that was killed has ended."""

        async def done() -> bool:
            try:
                await work()
            except OperationInProgress:
                return False
            return True

        await until(done, 120)

    async def _position(self) -> int:
        """The position of what is read, whether announced or not. It never goes back."""
        async with connected(self.url) as connection:
            position = position_of((await fetch_checkpoint(connection)).latest)
        assert position >= self.reached
        self.reached = position
        return position

    # Comparisons

    @rule(place=d.places, limit=st.integers(1, 4), locale=d.locales)
    def look(self, place: Place, limit: int, locale: str) -> None:
        self.run(self._look(place, limit, locale))

    async def _look(self, place: Place, limit: int, locale: str) -> None:
        """Compares however much of the log is projected, except in the middle of a command with
        several events, which the reference model does not represent."""
        then = self.paired.models.get(await self._position())
        if then is not None:
            await ModelReader(self.pool, then, place, limit, locale).check_all_reads()

    async def _glance(self) -> None:
        then = self.paired.models.get(await self._position())
        if then is not None:
            for place, locale in itertools.product(d.PLACES, d.LOCALES):
                await ModelReader(self.pool, then, place, 9, locale).check_list_across_types(None)

    async def _at_last(self) -> None:
        """Compares the read model that was followed and a new one, before and after all entries are
        rendered again; then the first one again, which has not been updated in the meantime."""
        await self._all_projected()
        followed = await dump(self.url)
        await self._alone(lambda: rebuild(self.url))
        assert await dump(self.url) == followed
        await compare_past(self.pool, self.repository, self.paired.reference, MOMENTS)
        await self.paired.execute([*self.more, *self.revisions])
        await project_all(self.url, self.url, renderings=0)
        for place, locale in zip(d.PLACES, d.LOCALES, strict=True):
            await self._look(place, 3, locale)
        await self._all_projected()
        made_anew = await dump(self.url)
        await self._alone(lambda: rollback(self.url))
        await self._glance()
        await self._all_projected()
        assert await dump(self.url) == made_anew

    async def _all_projected(self) -> None:
        await project_all(self.url, self.url)
        assert await self._position() == await head_of(self.url)
        await self._glance()
        await self._check_counts_and_claims()

    async def _check_counts_and_claims(self) -> None:
        async with connected(self.url) as connection:
            assert await connection.fetch(COUNTS) == []
            assert await connection.fetchval(KINDS) == await connection.fetchval(COUNTED)
            assert await claim_differences(connection, Operation(silent)) == []


async def nothing_to_go_back_to(url: str) -> None:
    with pytest.raises(NoPreviousReadModel):
        await rollback(url)
