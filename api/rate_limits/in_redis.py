"""The counter in Redis, for API processes on several machines (the extra ``redis``)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from api.rate_limits.counter import FEW, MOST, SHARE, WINDOW, Demand, Grant

PREFIX = "contentlog:rate:"
PATIENCE = 2.0
_LEASE = (resources.files("api.rate_limits") / "lease.lua").read_text("utf-8")


class RedisCounter:
    """A Counter. One script does all that a process asks at once; keys expire by themselves."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(
            url,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
            decode_responses=True,
            # The same demand sent again would give back twice.
            retry=Retry(NoBackoff(), 0),
        )
        self._lease = self._redis.register_script(_LEASE)

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        keys = [PREFIX + demand.bucket for demand in demands]
        about: list[int] = [WINDOW, FEW, SHARE, MOST]
        for demand in demands:
            about += (demand.limit, demand.asked, demand.window, demand.spare, demand.unused)
        microseconds, *numbers = await self._lease(keys, about)
        at = int(microseconds) / 1_000_000
        four = (numbers[n : n + 4] for n in range(0, len(numbers), 4))
        return [Grant(window, granted, free, spare, at) for window, granted, free, spare in four]

    async def expire(self, window: int) -> bool:  # noqa: ARG002 - Redis does it by itself
        return False

    async def close(self) -> None:
        await self._redis.aclose()
