"""On a PostgreSQL with default settings, none of contentlog's statements is compiled (JIT).

The test server would compile every plan, as a server with default settings does for a list of a
million entries. It logs each plan with the settings that affect it. The embedded PostgreSQL has no
JIT compiler; CONTENTLOG_TEST_POSTGRES may name a PostgreSQL that has one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from msgspec import Struct

from projector.rebuild.operations import verify
from read_side import paging
from read_side.pool import Pool, open_pool
from tests.databases import runtime_url, set_up
from tests.default_server import LOG, default_server
from tests.integration.live_projector import project_all
from tests.integration.projector.rebuilds import build_settings, rebuild, silent
from tests.integration.projector.sample_log import SCOPE, ContentBuilder
from write_side.postgres import connection as connections
from write_side.postgres.connection import set_defaults
from write_side.repository import Repository
from write_side.store import log_reader
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytestmark = pytest.mark.slow

PLANS_ARE_LOGGED = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_settings": "on",
}
COMPILES = {"jit_above_cost": "0", "jit_optimize_above_cost": "0", "jit_inline_above_cost": "0"}
NUMBER = "SELECT count(*) FROM generate_series(1, 10)"
READ_LOG = f"SELECT pg_read_file('{LOG}')"
_PLAN = re.compile(r"^\S.*?plan:\n((?:\t.*\n)+)", re.MULTILINE)
LISTS: dict[str, dict[str, Any]] = {
    "list_of_type": {"type_slug": "posts", "status": "draft", "language": "en-US"},
    "list_across_types": {"type_slug": None},
    "list_across_types of a status": {"type_slug": None, "status": "draft"},
}


class Plan(Struct, frozen=True):
    """``jit``: the setting used for planning; ``compiled``: whether the server compiled it."""

    statement: str
    jit: str
    compiled: bool


class LoggedPlans:
    """The plans that the server has logged since the last call."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._seen = 0

    async def new(self) -> list[Plan]:
        connection = await asyncpg.connect(self._url, server_settings={"jit": "off"})
        try:
            log = await connection.fetchval(READ_LOG)
        finally:
            await connection.close()
        fresh, self._seen = log[self._seen :], len(log)
        plans = [json.loads(text) for text in _PLAN.findall(fresh)]
        return [
            Plan(plan["Query Text"], plan.get("Settings", {}).get("jit", "on"), "JIT" in plan)
            for plan in plans
            if plan["Query Text"] != READ_LOG
        ]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with default_server(settings={**PLANS_ARE_LOGGED, **COMPILES}) as server:
        asyncio.run(fill(server))
        yield server


async def fill(url: str) -> None:
    await set_up(url)
    async with open_recorder(url) as recorder:
        builder = ContentBuilder(Repository(recorder, EventMapper()))
        await builder.magazine()
        for number in range(20):
            await builder.translate(await builder.entry(f"entry-{number}"), "fr-FR", title="Titre")
    await project_all(url, url)


@pytest.fixture
async def logged(url: str) -> LoggedPlans:
    logged = LoggedPlans(url)
    await logged.new()
    return logged


@pytest.fixture
def several_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "EVENTS_IN_A_RANGE", 10)


async def test_a_foreign_connection_compiles_plans(url: str, logged: LoggedPlans) -> None:
    """Shows that the other tests can fail."""
    connection = await asyncpg.connect(url)
    await connection.fetch(NUMBER)
    has_compiler = await connection.fetchval("SELECT pg_jit_available()")
    await connection.close()
    [plan, _] = await logged.new()
    assert plan == Plan(NUMBER, "on", compiled=has_compiler)


@pytest.mark.usefixtures("several_workers")
async def test_our_connections_compile_no_plans(url: str, logged: LoggedPlans) -> None:
    await use_all(runtime_url(url), workers=2)
    check(await logged.new())


async def test_no_plans_are_compiled_behind_a_pooler(
    url: str, logged: LoggedPlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PgBouncer passes no settings on, so the role has them as defaults."""
    monkeypatch.setattr(connections, "SETTINGS", {})
    user = runtime_url(url)
    await use_lists(user)
    # asyncpg's own type lookups run without the setting.
    assert "on" in {plan.jit for plan in await logged.new()}
    monkeypatch.undo()
    connection = await asyncpg.connect(user)
    await set_defaults(connection)
    await connection.close()
    await logged.new()
    monkeypatch.setattr(connections, "SETTINGS", {})
    await use_all(user, workers=1)
    check(await logged.new())


async def use_all(url: str, workers: int) -> None:
    await use_lists(url)
    assert (await rebuild(url, workers=workers)).differences == []
    result = await verify(build_settings(url, workers=workers), silent)
    assert (result.read_model, result.not_compared, result.claims) == ([], None, [])


async def use_lists(url: str) -> None:
    async with open_pool(url) as pool:
        for offset in (0, paging.DEEP):
            for locale in ("en-US", "fr-FR"):
                for name, filters in LISTS.items():
                    await listed(pool, name.split()[0], offset, locale=locale, **filters)


async def listed(pool: Pool, name: str, offset: int, **filters: Any) -> None:
    page = await getattr(paging, name)(pool, SCOPE, **filters, limit=10, offset=offset)
    assert (len(page.rows), page.matches) == (0 if offset else 10, 20)


def check(plans: list[Plan]) -> None:
    used = "\n".join(plan.statement for plan in plans)
    for table in ("read_model.entry", "entry_locale", "write_side.event", "entry_claim"):
        assert table in used
    assert [plan for plan in plans if plan.jit == "on" or plan.compiled] == []
