"""The counter in the database behaves like its model, and expired buckets are removed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable

import pytest

from tests.integration.api.server import room
from tests.integration.live_projector import connected
from tests.unit.api.counter_doubles import ModelCounter
from write_side.store.rate_limits import EXPIRED_AT_ONCE, FEW, WINDOW, Counter, Demand, Grant

Make = Callable[[], Counter]


@pytest.fixture
async def make(database_url: str) -> AsyncIterator[Make]:
    """Makes any number of counters on the same database."""
    made: list[Counter] = []

    def counter() -> Counter:
        made.append(Counter(database_url))
        return made[-1]

    yield counter
    for one in made:
        await one.close()


async def test_the_database_grants_what_the_model_grants(make: Make) -> None:
    await room()
    dice = random.Random(4711)
    counter, model = make(), ModelCounter()
    last: dict[str, Grant] = {}
    for _ in range(150):
        demands = []
        for bucket in sorted(dice.sample("abcdef", dice.randint(0, 5))):
            before = last.get(bucket)
            requested = dice.choice([0, 1, 1, 2, 5, 70])
            spare = dice.randint(0, before.granted) if before else 0
            window = (before.window if before else 0) - dice.choice([0, 0, 0, 60])
            limit = {"a": 50, "b": FEW, "c": 1_000, "d": 2**53 - 1}.get(bucket, 600)
            demands.append(Demand(bucket, limit, requested, window, spare, dice.randint(0, spare)))
        began = time.time()
        grants, expected = await counter.lease(demands), await model.lease(demands)
        # The clocks of the database and of this process may differ slightly.
        times = (began - 1, time.time() + 1)
        assert [(g.window, g.granted, g.free, g.spare) for g in grants] == [
            (g.window, g.granted, g.free, g.spare) for g in expected
        ]
        assert all(times[0] < g.at < times[1] and g.window % 60 == 0 for g in grants)
        last.update({demand.bucket: grant for demand, grant in zip(demands, grants, strict=True)})


async def test_a_grant_is_the_demand_and_a_small_reserve(make: Make) -> None:
    dice = random.Random(4711)
    demands = [
        Demand(f"{n:03}", dice.choice([-5, 0, 10, FEW, 10**6]), dice.choice([0, 1, 70, 10**6]))
        for n in range(200)
    ]
    for demand, grant in zip(demands, await make().lease(demands), strict=True):
        free = max(demand.limit, 0)
        assert min(demand.requested, free) <= grant.granted <= free
        if free < FEW or demand.requested == 0:
            assert grant.granted <= demand.requested


async def test_simultaneous_demands_get_exactly_the_limit(make: Make) -> None:
    await room()
    counters = [make() for _ in range(8)]

    async def ask(counter: Counter) -> int:
        granted = 0
        for _ in range(40):
            grants = await counter.lease([Demand("a", 700, 3), Demand("b", 90, 1)])
            granted += grants[0].granted * 1_000 + grants[1].granted
        return granted

    assert sum(await asyncio.gather(*map(ask, counters))) == 700 * 1_000 + 90


async def test_expired_rows_are_deleted_a_bounded_number_at_once(
    make: Make, database_url: str
) -> None:
    await room()
    counter = make()
    [grant] = await counter.lease([Demand("live", 10, 1)])
    async with connected(database_url) as connection:
        await connection.execute(
            "INSERT INTO write_side.rate_limit SELECT 'ip:' || n, $1, 1, 0, 1 "
            "FROM generate_series(1, $2::int) n",
            grant.window - WINDOW,
            EXPIRED_AT_ONCE + 5,
        )
        assert await counter.expire()
        assert not await counter.expire()
        assert await connection.fetchval("SELECT array_agg(bucket) FROM write_side.rate_limit") == [
            "live"
        ]


async def test_a_clock_set_back_does_not_reopen_a_window(database_url: str) -> None:
    """As after a failover to a machine whose clock is behind."""
    counter = Counter(database_url)
    [grant] = await counter.lease([Demand("a", 10, 1)])
    async with connected(database_url) as connection:
        await connection.execute("UPDATE write_side.rate_limit SET started = started + 60")
    [again] = await counter.lease([Demand("a", 10, 1)])
    assert (again.window, again.free) == (grant.window + 60, 8)
    await counter.close()


async def test_no_bucket_in_use_expires_after_a_clock_is_set_back(
    make: Make, database_url: str
) -> None:
    await room()
    counter = make()
    await counter.lease([Demand("before", 10, 1)])
    async with connected(database_url) as connection:
        await connection.execute("UPDATE write_side.rate_limit SET started = started + 60")
    await counter.lease([Demand("since", 10, 10)])
    assert not await counter.expire()
    [grant] = await counter.lease([Demand("since", 10, 1)])
    assert grant.granted == 0


async def test_buckets_far_ahead_expire_after_a_clock_is_set_back(
    make: Make, database_url: str
) -> None:
    await room()
    counter = make()
    async with connected(database_url) as connection:
        for bucket, seconds in (("now", 0), ("next", 60), ("far", 120), ("hour", 3600)):
            await counter.lease([Demand(bucket, 10, 1)])
            await connection.execute(
                "UPDATE write_side.rate_limit SET started = started + $2 WHERE bucket = $1",
                bucket,
                seconds,
            )
        assert not await counter.expire()
        left = await connection.fetch("SELECT bucket FROM write_side.rate_limit ORDER BY started")
    assert [row["bucket"] for row in left] == ["now", "next"]


async def test_the_table_of_counters_is_not_logged(database_url: str) -> None:
    async with connected(database_url) as connection:
        kind = await connection.fetchval(
            "SELECT relpersistence FROM pg_class WHERE oid = 'write_side.rate_limit'::regclass"
        )
    assert kind == b"u"
