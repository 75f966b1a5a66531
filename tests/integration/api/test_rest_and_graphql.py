"""Commands over REST and GraphQL in any order: both return what the specification says, now and as
of any earlier time.

Hypothesis generates the commands. A real server and the reference model of ``test_laws.py`` execute
them. The test controls the clock, so entries share a millisecond and time goes back.
CONTENTLOG_TEST_LAWS=100 runs a hundred long examples, different ones each time.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import ClassVar, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from tests.databases import Databases
from tests.integration.api.api_writer import ApiWriter
from tests.integration.api.read_checker import ReadChecker
from tests.integration.api.server import serving
from tests.integration.projector import command_strategies as d
from tests.integration.projector.reference_model import Place
from tests.integration.projector.test_laws import AT_LENGTH, IN_THE_SUITE, MANY
from tests.store_clock import follow_clock
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytestmark = pytest.mark.slow

T = TypeVar("T")

MOMENTS = 6 if MANY else 2


def test_rest_and_graphql_agree(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RestAndGraphQL, "databases", databases, raising=False)
    monkeypatch.setattr(RestAndGraphQL, "found", set(), raising=False)
    in_the_suite = settings(IN_THE_SUITE, max_examples=6, stateful_step_count=8)
    run_state_machine_as_test(RestAndGraphQL, settings=AT_LENGTH if MANY else in_the_suite)
    # Each outcome must occur; otherwise the test proves nothing about it.
    refused = {f"{door} {status}" for door in ("REST", "GraphQL") for status in (400, 402, 404)}
    assert MANY or RestAndGraphQL.found >= {"REST 200", "GraphQL 200", "GraphQL 409", *refused}


class RestAndGraphQL(RuleBasedStateMachine):
    """Executes commands and compares at once: a change can be read once its response has
    arrived."""

    databases: ClassVar[Databases]
    found: ClassVar[set[str]]

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        url = self.stack.enter_context(self.databases.new())
        self.runner = self.stack.enter_context(asyncio.Runner())
        self.runner.run(follow_clock(url))
        repository = Repository(self._opened(open_recorder(url)), EventMapper())
        self.doors = ApiWriter(repository, self._opened(serving(url, repository)))

    def _opened(self, context: contextlib.AbstractAsyncContextManager[T]) -> T:
        opened = self.runner.run(context.__aenter__())
        self.stack.callback(lambda: self.runner.run(context.__aexit__(None, None, None)))
        return opened

    def teardown(self) -> None:
        self.found.update(self.doors.found)
        self.stack.close()

    @initialize(beginnings=d.beginnings())
    def begin(self, beginnings: list[d.Beginning]) -> None:
        self.runner.run(self.doors.begin(beginnings))

    @rule(commands=d.commands(), place=d.places, limit=st.integers(1, 4), locale=d.locales)
    def execute_and_compare(
        self, commands: list[d.DrawnCommand], place: Place, limit: int, locale: str
    ) -> None:
        self.runner.run(
            self._execute_and_compare(
                commands, ReadChecker(self.doors, place, limit, locale, MOMENTS)
            )
        )

    async def _execute_and_compare(
        self, commands: list[d.DrawnCommand], read_checker: ReadChecker
    ) -> None:
        await self.doors.execute(commands)
        await self.doors.add_and_remove_translation(
            read_checker.place, len(commands), read_checker.locale
        )
        # Commands without an endpoint do not wait until they are visible.
        await self.doors.server.caught_up()
        await read_checker.check_all_reads()
