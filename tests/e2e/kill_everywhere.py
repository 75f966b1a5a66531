"""``python -m tests.e2e.kill_everywhere WHAT EVENT_STORE_URL READ_MODEL_URL``

Kills the projector before and after each of its commits, a rebuild before every so manieth of its
statements, an import before each of its statements and while its append is under way, or a
deliverer of webhooks before each of its statements, until the work is done; prints how often that
was.
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
"""Seconds into an append."""

UNCOUNTED: Any = asyncpg.Connection.fetchval
DELIVERED = """
SELECT (SELECT min(position) FROM write_side.webhook_cursor)
       >= (SELECT max(position) FROM read_model.change)"""

MOVE = (WriteTransaction, "move_checkpoint")
FILL = (background, "_fill")
RENDER = (background, "_render")


def projector(store_url: str, model_url: str) -> int:
    """One dies before the first of its commits, whatever that is, the next before that of its
    batch, the next ones after them; so for those that only fill values or render, when all is
    projected."""
    kills = 0
    while telling := asyncio.run(_to_do(store_url, model_url)):
        for prepare in (
            kill_points.at_commit("before"),
            kill_points.at_commit("before", telling),
            kill_points.at_commit("after"),
            kill_points.at_commit("after", telling),
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
    """After each death the live read model says what it said before."""
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
        except OperationInProgress:  # the session of the one that was killed is about to end
            await asyncio.sleep(0.01)
        else:
            return


def importing(store_url: str, _: str) -> int:
    """After each death all of its entries are there, or none; sent again, they are there once."""
    kills = 0
    for number, delay in enumerate(DELAYS):
        kills += _imported(store_url, f"way-{number}", [kill_points.while_under_way(APPEND, delay)])
    statements = (kill_points.at_statement(number) for number in itertools.count(1))
    return kills + _imported(store_url, "statements", statements)


def _imported(url: str, import_id: str, ways: Iterable[Callable[[], None]]) -> int:
    """How often it was killed in these ways, until it lived or there were no more of them."""
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
    """Until one lives long enough to find that everything was delivered."""
    deliver = partial(_deliver, store_url, model_url)
    for kills in itertools.count():
        if kill_points.run(deliver, kill_points.at_statement(kills + 1)):
            return kills
    raise AssertionError


async def _deliver(store_url: str, model_url: str) -> None:
    """Until all changes are delivered."""
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
