"""Responses to reads, cached in memory while the database would return the same.

A cached response is used after all checks of its request, and only while nothing it depends on has
changed, by ``Freshness`` (ADR 38).
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from aiohttp import web
from msgspec import Struct
from prometheus_client import Counter as Metric
from prometheus_client import Gauge

from api.auth.keys import Caller
from api.http.compression import gzipped
from api.http.request_counts import COUNTS
from api.rest.wire import encode
from read_side.freshness import Freshness
from read_side.notices import Dependency

LARGEST = 256 * 1024
"""Bytes of a body that is cached."""
OVERHEAD = 1_000
"""Bytes of a cached response in addition to its body, its gzip form, its dependencies and the
texts of its key."""
DEPENDENCY = 100
"""Bytes of one; a response with ``include`` may have 500."""
Key = tuple[object, ...]
"""All that determines a response; the workspace first."""
Target = tuple[str, str | None]
"""The path of a request with its query, as it was sent, and X-Environment."""
Request = tuple[Caller, Target]
Variant = tuple[bool, bool]
"""Whether the client takes gzip, and whether the request came over https."""
REPEATED = 8
"""Requests that are remembered with a response."""

HITS = Metric("contentlog_cache_hits", "Reads answered from memory")
MISSES = Metric("contentlog_cache_misses", "Reads that memory could not answer")
EVICTIONS = Metric("contentlog_cache_evictions", "Cached responses removed to make room")
BYTES = Gauge("contentlog_cache_bytes", "Memory of cached responses", multiprocess_mode="livesum")


class Ready(Struct, frozen=True, gc=False):
    """A response as it was sent: the bytes of the head, without its end and without the headers
    that differ from request to request, and of the body."""

    route: str
    head: bytes
    body: bytes


# Not for the garbage collector, which would stop the loop for 40 ms to visit those of a full cache.
# There are no cycles. It also visits lists, but not tuples of what it does not visit.
class CachedResponse(Struct, gc=False):
    """``body`` is JSON, ``token`` that of the position of ``stamp``, ``size`` bytes of memory.
    ``ready``: as it was sent; ``requests``: those that it was sent to, the latest last."""

    key: Key
    body: bytes
    tag: str
    token: str
    stamp: int
    dependencies: tuple[Dependency, ...]
    compressed: bytes | None = None
    size: int = 0
    ready: dict[Variant, Ready] = {}
    requests: tuple[Request, ...] = ()


class ReadResponse(web.Response):
    """Made of a response that is cached, or may be. ``is_repeated``: it was cached before."""

    def __init__(self, cached: CachedResponse, caller: Caller, *, is_repeated: bool) -> None:
        super().__init__(body=cached.body, content_type="application/json")
        self.cached = cached
        self.caller = caller
        self.is_repeated = is_repeated


class ResponseCache:
    """At most ``capacity`` bytes; those of one workspace take half at most. The least recently
    used response goes first. A capacity of 0 caches nothing."""

    def __init__(self, freshness: Freshness, capacity: int) -> None:
        self._freshness = freshness
        self._capacity = capacity
        self._cached: OrderedDict[Key, CachedResponse] = OrderedDict()
        self._of_workspace: dict[object, OrderedDict[Key, None]] = {}
        self._repeated: dict[Target, dict[Caller, CachedResponse]] = {}
        self._bytes: Counter[object] = Counter()
        self._resets = freshness.resets
        self.size = 0
        """The bytes of all cached responses."""

    @property
    def resets(self) -> int:
        """Read this before reading what is put."""
        return self._freshness.resets

    def find(self, key: Key) -> CachedResponse | None:
        """The cached response, if it may be used now."""
        self._follow_resets()
        response = self._if_current(self._cached.get(key))
        COUNTS.others[MISSES if response is None else HITS] += 1
        return response

    def is_repeated(self, target: Target) -> bool:
        """Whether a request for it is remembered, of any caller."""
        return target in self._repeated

    def find_repeated(self, request: Request) -> CachedResponse | None:
        """Like ``find``, for a remembered request. Does not count the read."""
        self._follow_resets()
        caller, target = request
        return self._if_current(self._repeated.get(target, {}).get(caller))

    def remember(
        self, response: CachedResponse, request: Request, variant: Variant, ready: Ready
    ) -> None:
        """Remembers that the request got this response, if it is cached."""
        if self._cached.get(response.key) is not response:
            return
        number = 0
        if variant not in response.ready:
            response.ready[variant] = ready
            number += OVERHEAD
        if request not in response.requests:
            response.requests = (*response.requests, request)
            caller, target = request
            self._repeated.setdefault(target, {})[caller] = response
            number += OVERHEAD
        if len(response.requests) > REPEATED:
            oldest, *others = response.requests
            response.requests = tuple(others)
            self._forget(oldest)
            number -= OVERHEAD
        self._grow(response, number)

    def put(self, response: CachedResponse, resets: int) -> None:
        """Caches the response if that is allowed. ``resets``: their number before it was read."""
        self._follow_resets()
        key, size = response.key, len(response.body)
        fits = self._capacity > 0 and size <= LARGEST
        if not fits or not self._freshness.may_keep(response.stamp, resets):
            return
        self._remove(key)
        self._cached[key] = response
        self._of_workspace.setdefault(key[0], OrderedDict())[key] = None
        texts = len(encode(key))
        self._grow(response, OVERHEAD + size + texts + DEPENDENCY * len(response.dependencies))

    async def compressed(self, response: CachedResponse) -> bytes:
        """The body with gzip, made once."""
        if response.compressed is None:
            compressed = await gzipped(response.body)
            if response.compressed is None:
                response.compressed = compressed
                self._grow(response, len(compressed))
        return response.compressed

    def _if_current(self, cached: CachedResponse | None) -> CachedResponse | None:
        if cached is None or not self._freshness.is_current(cached.stamp, cached.dependencies):
            return None
        self._cached.move_to_end(cached.key)
        self._of_workspace[cached.key[0]].move_to_end(cached.key)
        return cached

    def _grow(self, response: CachedResponse, number: int) -> None:
        """Adds to the size of a cached response, and removes others if the cache is too large."""
        key = response.key
        if self._cached.get(key) is not response:
            return
        response.size += number
        self._count(key, number)
        while self._bytes[key[0]] > self._capacity // 2:
            self._evict(next(iter(self._of_workspace[key[0]])))
        while self.size > self._capacity:
            self._evict(next(iter(self._cached)))

    def _evict(self, key: Key) -> None:
        self._remove(key)
        COUNTS.others[EVICTIONS] += 1

    def _remove(self, key: Key) -> None:
        response = self._cached.pop(key, None)
        if response is None:
            return
        self._count(key, -response.size)
        for request in response.requests:
            self._forget(request)
        del self._of_workspace[key[0]][key]
        if not self._of_workspace[key[0]]:
            del self._of_workspace[key[0]], self._bytes[key[0]]

    def _forget(self, request: Request) -> None:
        caller, target = request
        callers = self._repeated.get(target, {})
        callers.pop(caller, None)
        if not callers:
            self._repeated.pop(target, None)

    def _count(self, key: Key, number: int) -> None:
        self._bytes[key[0]] += number
        self.size += number
        COUNTS.others[BYTES] += number

    def _follow_resets(self) -> None:
        if self._resets != self._freshness.resets:
            self._resets = self._freshness.resets
            COUNTS.others[BYTES] -= self.size
            self.size = 0
            for state in (self._cached, self._of_workspace, self._repeated, self._bytes):
                state.clear()
