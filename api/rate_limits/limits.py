"""The two limits of a request: its address's and its key's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import Counter as Metric

from api.auth.keys import Caller
from api.http import client_address
from api.rate_limits.bucket import LimitStatus
from api.rate_limits.counter import Counter
from api.rate_limits.in_memory import MemoryCounter
from api.rate_limits.leases import Leases
from api.rate_limits.postgres_counter import PostgresCounter
from api.settings import ApiSettings

UNLIMITED = 1_000_000_000
"""What the headers say where a limit is switched off."""
SIGN_INS = 10
"""A minute from one address, failed or not."""
REFUSED = Metric("contentlog_rate_limit_refused", "Requests refused with 429", ["bucket"])


class Limits:
    """Counts requests as the settings say; a limit of 0 is switched off."""

    def __init__(self, leases: Leases, settings: ApiSettings) -> None:
        self._leases = leases
        self._key_limit = settings.key_rate_limit
        self._address_limit = settings.ip_rate_limit
        self._trusted = client_address.networks(settings.trusted_proxies)

    async def count_address(self, request: web.Request) -> LimitStatus:
        if self._address_limit == 0:
            return self._unlimited()
        return self._noted(
            "address", await self._leases.count(self._bucket_of(request), self._address_limit)
        )

    async def count_key(self, caller: Caller) -> LimitStatus:
        """The plan's limit, or the setting where the plan has none."""
        limit = self._limit_of(caller)
        if limit == 0:
            return self._unlimited()
        return self._noted("key", await self._leases.count(f"key:{caller.key_id}", limit))

    async def count_sign_in(self, request: web.Request) -> LimitStatus:
        """Whatever the limits are set to: nobody types keys faster, and who tries them does."""
        bucket = "sign-in:" + self._bucket_of(request)
        return self._noted("sign-in", await self._leases.count(bucket, SIGN_INS))

    def look_at_key(self, caller: Caller) -> LimitStatus:
        """The key's standing, without counting the request."""
        limit = self._limit_of(caller)
        return self._leases.look(f"key:{caller.key_id}", limit) if limit else self._unlimited()

    def look(self, request: web.Request) -> LimitStatus:
        """The address's standing, without counting the request."""
        if self._address_limit == 0:
            return self._unlimited()
        return self._leases.look(self._bucket_of(request), self._address_limit)

    def _limit_of(self, caller: Caller) -> int:
        limit = caller.plan.requests_per_minute
        return self._key_limit if limit is None else limit

    def _bucket_of(self, request: web.Request) -> str:
        forwarded = request.headers.getall("X-Forwarded-For", ()) if self._trusted else ()
        return "ip:" + client_address.client(request.remote, forwarded, self._trusted)

    def _unlimited(self) -> LimitStatus:
        return LimitStatus(True, UNLIMITED, UNLIMITED, self._leases.reset())

    def _noted(self, bucket: str, standing: LimitStatus) -> LimitStatus:
        if not standing.passed:
            REFUSED.labels(bucket).inc()
        return standing


@asynccontextmanager
async def open_limits(settings: ApiSettings) -> AsyncIterator[Limits]:
    """Limits that are counted in Redis where it is set, else in the event store's database."""
    async with Leases(_counter(settings)) as leases:
        yield Limits(leases, settings)


def _counter(settings: ApiSettings) -> Counter:
    if settings.redis_url:
        # An extra: it is not installed everywhere.
        from api.rate_limits.in_redis import RedisCounter

        return RedisCounter(settings.redis_url)
    return MemoryCounter() if settings.alone else PostgresCounter(settings.event_store_url)
