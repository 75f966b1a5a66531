"""The limits of a request: those of its address and its key, its workspace's cost limit, and the
limit on sign-ins."""

from __future__ import annotations

from functools import reduce

from aiohttp import web
from prometheus_client import Counter as Metric

from api.auth.keys import Caller
from api.errors import CostLimitExceeded
from api.http import client_address
from api.rate_limits.bucket import LimitStatus, stricter
from api.rate_limits.leases import Leases
from api.settings import ApiSettings
from write_side.dispatch import Reserve
from write_side.imports.table import Table

UNLIMITED = 1_000_000_000
"""Shown in the headers if a limit is switched off."""
SIGN_INS = 10
"""Sign-ins per minute from one address, failed or not."""
SECOND = 100_000
"""The cost of a second of a worker or a thread: a unit is about 10 µs."""
BYTES = 250
"""Bytes of a response per unit."""
IMPORTED_ROW = 100
"""In addition to a unit for each cell, and for each reference or element in it."""
PROJECTED_BYTES = 64
"""Bytes that the projector writes for a write, per unit: about four times the processor time,
because all workspaces share one projector."""
AT_ONCE = 1024
"""Units up to which a write is charged without waiting for the counter."""
REFUSED = Metric("contentlog_rate_limit_refused", "Requests refused with 429", ["bucket"])


def import_cost(table: Table) -> int:
    """The cost of checking or importing a file. Best called in a thread."""
    return sum(IMPORTED_ROW + len(row.cells) + row.parts for row in table.rows)


def seconds_cost(seconds: float) -> int:
    return int(seconds * SECOND)


def projection_cost(size: int) -> int:
    """``size``: bytes of the rows of an append."""
    return -(-size // PROJECTED_BYTES)


class Limits:
    """Counts requests by the settings; a limit of 0 is switched off."""

    def __init__(self, leases: Leases, settings: ApiSettings) -> None:
        self._leases = leases
        self._key_limit = settings.key_rate_limit
        self._address_limit = settings.ip_rate_limit
        self._cost_limit = settings.cost_limit
        self._trusted = client_address.networks(settings.trusted_proxies)

    async def count_address(self, request: web.Request) -> LimitStatus:
        return await self._count("address", self.bucket_of(request), self._address_limit)

    async def count_key(self, caller: Caller) -> LimitStatus:
        """Against the plan's limit, or the setting if the plan has none."""
        return await self._count("key", *self._key_bucket(caller))

    def count_now(self, request: web.Request, caller: Caller) -> LimitStatus | None:
        """Counts the request against its address and its key. None, with nothing counted, if it
        would have to wait or be refused by a limit."""
        buckets = ((self.bucket_of(request), self._address_limit), self._key_bucket(caller))
        if self._leases.is_short(_cost_bucket(caller.workspace), self._cost_limit):
            return None
        counted = self._leases.count_now(*(bucket for bucket in buckets if bucket[1]))
        return None if counted is None else reduce(stricter, counted or [self._unlimited()])

    async def count_sign_in(self, request: web.Request) -> LimitStatus:
        """No setting disables it, because it slows down guessing of keys."""
        return await self._count("sign-in", "sign-in:" + self.bucket_of(request), SIGN_INS)

    async def reserve_cost(self, caller: Caller, units: int) -> None:
        """Charges the cost of a request before the work. Raises CostLimitExceeded."""
        bucket = _cost_bucket(caller.workspace)
        status = await self._count("cost", bucket, self._cost_limit, units)
        if not status.passed:
            raise CostLimitExceeded(status.wait, status.limit)

    async def check_cost(self, caller: Caller) -> None:
        """Calls the counter only if the limit seems to be used up. Raises CostLimitExceeded."""
        if self._leases.is_short(_cost_bucket(caller.workspace), self._cost_limit):
            await self.reserve_cost(caller, 1)

    def charge_cost(self, workspace: str, units: int) -> None:
        """Charges the cost of work for the workspace after it is done."""
        if self._cost_limit and units > 0:
            self._leases.charge(_cost_bucket(workspace), self._cost_limit, units)

    def charge_bytes(self, caller: Caller, number: int) -> None:
        self.charge_cost(caller.workspace, -(-number // BYTES))

    def charge_seconds(self, caller: Caller, seconds: float) -> None:
        self.charge_cost(caller.workspace, seconds_cost(seconds))

    def projection(self, caller: Caller) -> Reserve:
        """Charges the cost of projecting one write, before it is appended. Each attempt calls the
        function with the size of the rows in bytes; only what earlier attempts have not charged is
        charged. It raises CostLimitExceeded."""
        taken = 0

        async def reserve(size: int) -> None:
            nonlocal taken
            units = projection_cost(size) - taken
            if units > AT_ONCE:
                await self.reserve_cost(caller, units)
            else:
                self.charge_cost(caller.workspace, units)
            taken += max(units, 0)

        return reserve

    def peek_key(self, caller: Caller) -> LimitStatus:
        """The key's bucket, without counting the request."""
        return self._peek(*self._key_bucket(caller))

    def peek_address(self, request: web.Request) -> LimitStatus:
        """The address's bucket, without counting the request."""
        return self._peek(self.bucket_of(request), self._address_limit)

    async def _count(self, kind: str, bucket: str, limit: int, amount: int = 1) -> LimitStatus:
        if limit == 0:
            return self._unlimited()
        status = await self._leases.count(bucket, limit, amount)
        if not status.passed:
            REFUSED.labels(kind).inc()
        return status

    def _peek(self, bucket: str, limit: int) -> LimitStatus:
        return self._leases.peek(bucket, limit) if limit else self._unlimited()

    def _key_bucket(self, caller: Caller) -> tuple[str, int]:
        """The name of the key's bucket, and its limit."""
        limit = caller.plan.requests_per_minute
        return f"key:{caller.key_id}", self._key_limit if limit is None else limit

    def bucket_of(self, request: web.Request) -> str:
        """The bucket of the client's address."""
        forwarded = request.headers.getall("X-Forwarded-For", ()) if self._trusted else ()
        return "ip:" + client_address.client(request.remote, forwarded, self._trusted)

    def _unlimited(self) -> LimitStatus:
        return LimitStatus(True, UNLIMITED, UNLIMITED, self._leases.reset())


def _cost_bucket(workspace: str) -> str:
    return f"cost:{workspace}"
