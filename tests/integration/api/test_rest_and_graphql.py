"""Commands over REST and GraphQL in any order: both return what the specification says, now and at
any earlier time.

Told by hypothesis to a real server and to the naive model of the read model's laws. A time of its
own, so that entries are created in one millisecond and clocks go back.

CONTENTLOG_TEST_LAWS=100 tells a hundred long stories, others each time.
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
from tests.integration.api.api_clients import Doors
from tests.integration.api.api_views import Seeing
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
    monkeypatch.setattr(House, "databases", databases, raising=False)
    monkeypatch.setattr(House, "found", set(), raising=False)
    in_the_suite = settings(IN_THE_SUITE, max_examples=4, stateful_step_count=8)
    run_state_machine_as_test(House, settings=AT_LENGTH if MANY else in_the_suite)
    # What was never refused was never tried.
    refused = {f"{door} {status}" for door in ("REST", "GraphQL") for status in (400, 402, 404)}
    assert MANY or House.found >= {"REST 200", "GraphQL 200", "GraphQL 409", *refused}


class House(RuleBasedStateMachine):
    """Tells, and looks at once: whoever was answered sees what was written."""

    databases: ClassVar[Databases]
    found: ClassVar[set[str]]

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        url = self.stack.enter_context(self.databases.new())
        self.runner = self.stack.enter_context(asyncio.Runner())
        self.runner.run(follow_clock(url))
        repository = Repository(self._opened(open_recorder(url)), EventMapper())
        self.doors = Doors(repository, self._opened(serving(url, repository)))

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

    @rule(deeds=d.deeds(), place=d.places, limit=st.integers(1, 4), locale=d.locales)
    def tell_and_look(self, deeds: list[d.Deed], place: Place, limit: int, locale: str) -> None:
        self.runner.run(
            self._tell_and_look(deeds, Seeing(self.doors, place, limit, locale, MOMENTS))
        )

    async def _tell_and_look(self, deeds: list[d.Deed], seeing: Seeing) -> None:
        await self.doors.tell(deeds)
        await self.doors.translate_and_take_back(seeing.place, len(deeds), seeing.locale)
        # What has no door is not waited for by itself.
        await self.doors.server.caught_up()
        await seeing.everywhere()
