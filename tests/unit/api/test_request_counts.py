"""Requests counted in a batch give the same metrics as requests counted singly."""

from __future__ import annotations

import asyncio

from prometheus_client import REGISTRY

from api.http.request_counts import BOUNDS, DELAY, SECONDS, RequestCounts


def counted(route: str) -> dict[tuple[str, ...], float]:
    """Returns the non-zero samples of a route by name, method, status and bucket."""
    return {
        (sample.name, *(sample.labels.get(name, "") for name in ("method", "status", "le"))): value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.labels.get("route") == route
        and (value := sample.value)
        and not sample.name.endswith("_created")
    }


async def test_a_batch_has_every_request_in_its_bucket() -> None:
    counts, times = RequestCounts(), (0.0, 0.001, 0.0011, 0.3, 10.0, 11.0)
    for seconds in times:
        counts.add("GET", "a batch", 200, seconds)
        SECONDS.labels("one by one").observe(seconds)
    counts.add("BREW", "a batch", 404, 0.3)
    SECONDS.labels("one by one").observe(0.3)
    assert counted("a batch") == {}
    counts.flush()
    batch = counted("a batch")
    assert batch.pop(("contentlog_requests_total", "GET", "200", "")) == len(times)
    assert batch.pop(("contentlog_requests_total", "other", "404", "")) == 1
    assert batch == counted("one by one")
    assert batch["contentlog_request_seconds_bucket", "", "", "0.001"] == 2
    assert len(SECONDS.labels("one by one")._upper_bounds) == len(BOUNDS) + 1


async def test_counts_wait_for_a_moment_only() -> None:
    counts = RequestCounts()
    for expected in (1, 2):
        counts.add("GET", "later", 200, 0.1)
        await asyncio.sleep(DELAY * 1.5)
        assert counted("later")["contentlog_requests_total", "GET", "200", ""] == expected
