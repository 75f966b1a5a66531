"""``python -m tests.e2e.kill_everywhere WHAT EVENT_STORE_URL READ_MODEL_URL``

Runs one kind of work until it is done, killing its process at every point: a projector before and
after each commit, a rebuild before every fifth statement, an import before each statement and
during its append, or a webhook deliverer before each statement. Prints the number of kills.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import asyncpg

from api.settings import WebhookSettings
from api.webhooks.process import run_sessions
from projector import background
from projector.rebuild import operations as module
from projector.rebuild.build import BuildSettings
from projector.rebuild.progress import OperationInProgress
from projector.write_transaction import WriteTransaction
from tests.e2e import imports, kill_points
from tests.integration.api.deliveries import LOOPBACK
from tests.integration.live_projector import checkpoint_of, connected, dump, head_of, project_all

BATCH = 6
STRIDE = 5


APPEND = "write_side.append("
DELAYS = (0.0, 0.002, 0.005, 0.01)
"""Seconds after the append was sent."""

UNCOUNTED: Any = asyncpg.Connection.fetchval
DELIVERED = """
SELECT (SELECT min(position) FROM write_side.webhook_cursor)
       >= (SELECT max(position) FROM read_model.change)"""

MOVE = (WriteTransaction, "move_checkpoint")
FILL = (background, "_fill")
RENDER = (background, "_render")


def projector(store_url: str, model_url: str) -> int:
    """Projects the log in four kinds of processes in turn. They die before their first commit of
    any kind, before the commit of their batch, after their first commit, and after the commit of
    their batch. When everything is projected, commits that fill values or render entries take the
    batch's place."""
    kills = 0
    while next_call := asyncio.run(_to_do(store_url, model_url)):
        for prepare in (
            kill_points.at_commit("before"),
            kill_points.at_commit("before", next_call),
            kill_points.at_commit("after"),
            kill_points.at_commit("after", next_call),
        ):
            kills += not kill_points.run(
                partial(project_all, store_url, model_url, [BATCH]), prepare
            )
    return kills


async def _to_do(store_url: str, model_url: str) -> tuple[object, str] | None:
    if await checkpoint_of(model_url) < await head_of(store_url):
        return MOVE
    async with connected(model_url) as connection:
        for table, point in (("indexing", FILL), ("rendering", RENDER)):
            if await connection.fetchval(f"SELECT count(*) FROM read_model.{table}"):  # noqa: S608
                return point
    return None


def rebuild(store_url: str, model_url: str) -> int:
    """Rebuilds. After each kill, the live read model must be unchanged."""
    expected = asyncio.run(dump(model_url))
    number, kills = 1, 0
    while not kill_points.run(
        partial(_rebuild, store_url, model_url), kill_points.at_statement(number)
    ):
        assert asyncio.run(dump(model_url)) == expected, f"killed before statement {number}"
        number, kills = number + STRIDE, kills + 1
    assert asyncio.run(dump(model_url)) == expected
    return kills


async def _rebuild(store_url: str, model_url: str) -> None:
    settings = BuildSettings(event_store_url=store_url, read_model_url=model_url, workers=1)
    while True:
        try:
            await module.rebuild(settings, accept_differences=False, report=lambda _: None)
        except OperationInProgress:  # the killed process's session is about to end
            await asyncio.sleep(0.01)
        else:
            return


def importing(store_url: str, _: str) -> int:
    """Imports. After each kill, either all of its entries are in the log or none; after a
    repetition, they are there exactly once."""
    kills = 0
    for number, delay in enumerate(DELAYS):
        kills += _imported(store_url, f"way-{number}", [kill_points.while_under_way(APPEND, delay)])
    statements = (kill_points.at_statement(number) for number in itertools.count(1))
    return kills + _imported(store_url, "statements", statements)


def _imported(url: str, import_id: str, ways: Iterable[Callable[[], None]]) -> int:
    """Kills the import in each of these ways until one run survives. Returns the number of
    kills."""
    send = partial(imports.send, url, import_id)
    kills = 0
    for prepare in ways:
        killed = not kill_points.run(send, prepare)
        assert asyncio.run(imports.events_of(url, import_id)) in (0, imports.EVENTS), kills
        if not killed:
            break
        kills += 1
    for _ in range(2):
        asyncio.run(send())
        assert asyncio.run(imports.events_of(url, import_id)) == imports.EVENTS
    return kills


def webhooks(store_url: str, model_url: str) -> int:
    """Delivers webhooks until one process lives long enough to deliver everything."""
    deliver = partial(_deliver, store_url, model_url)
    for kills in itertools.count():
        if kill_points.run(deliver, kill_points.at_statement(kills + 1)):
            return kills
    raise AssertionError


async def _deliver(store_url: str, model_url: str) -> None:
    """Runs the deliverer until all changes are delivered."""
    settings = WebhookSettings(store_url, model_url, networks=LOOPBACK)
    delivering = asyncio.create_task(run_sessions(settings))
    async with connected(model_url) as connection:
        while not await UNCOUNTED(connection, DELIVERED):
            assert not delivering.done()
            await asyncio.sleep(0.01)
    delivering.cancel()
    await asyncio.gather(delivering, return_exceptions=True)


WHAT = {"projector": projector, "rebuild": rebuild, "import": importing, "webhooks": webhooks}

if __name__ == "__main__":
    name, store, model = sys.argv[1:]
    print(WHAT[name](store, model))  # noqa: T201
