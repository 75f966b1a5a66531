"""What the dashboard shows while no projector runs, and its charts of the last 15 minutes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from unittest.mock import AsyncMock

import pytest

from api.dashboard.lag_history import LagHistory
from api.operations.health import ServiceStatus
from read_side.status import ReadModelStatus
from tests.integration.api.dashboard import Browser, signed_in
from tests.integration.api.server import Server, serving
from tests.integration.live_projector import caught_up, projecting, until
from tests.integration.projector.sample_log import STAGES, ContentBuilder
from write_side.repository import Repository
from write_side.store.recorder import Lag, Recorder

STOPPED = re.compile(r"No projector is running; what you see is from \d\d:\d\d")


@pytest.fixture(autouse=True)
def _fresh_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.operations.health.KEPT", -1.0)


async def test_a_stopped_projector_is_reported_on_both_pages(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, projector=False) as server:
        async with projecting(database_url):
            acme = await server.workspace()
            await acme.content_type()
            await caught_up(database_url)
            async with signed_in(server) as visitor:
                entries = (await visitor.get("/dashboard/entries")).text
                assert "No projector" not in entries
        await acme.entry("later")
        async with signed_in(server) as visitor:
            for path in ("/dashboard/projections", "/dashboard/entries"):
                page = await _stopped(visitor, path)
                assert 'class="notice bad"' in page
                assert "Catching up" not in page


@pytest.mark.parametrize(
    ("lag", "shown"), [(Lag(8, 1, 0.4), "Up to date"), (Lag(8, 1, 1.2), "is 1.2 s old")]
)
async def test_a_lag_of_more_than_a_second_is_shown(
    lag: Lag, shown: str, server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under steady writes, an event is always on its way."""
    await acme.content_type()
    await server.caught_up()
    monkeypatch.setattr(Recorder, "lag", AsyncMock(return_value=lag))
    async with signed_in(server) as visitor:
        page = (await visitor.get("/dashboard/projections")).text
    assert shown in page
    assert ("Catching up" in page) is (lag.seconds > 1)


async def _stopped(visitor: Browser, path: str) -> str:
    """Waits until the page reports a stopped projector: a killed one counts as running for a few
    seconds."""
    page = ""

    async def says_so() -> bool:
        nonlocal page
        page = (await visitor.get(path)).text
        return STOPPED.search(page) is not None

    await until(says_so)
    return page


async def test_columns_that_are_empty_on_the_page_are_omitted(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type(slug="pages")
    await acme.entry("page", type_slug="pages")
    await server.caught_up()
    async with signed_in(server) as visitor:
        assert await _columns(visitor) == ["Title", "Type", "Slug", "Status", "Language", "Updated"]
        assert "Type" not in await _columns(visitor, "?type=pages")
        await acme.content_type(stages=STAGES)
        await acme.entry("post", status="published")
        await acme.entry("draft")
        await server.caught_up()
        assert (await _columns(visitor))[-1] == "Published"
        assert "Stage" in await _columns(visitor)
        assert "Published" not in await _columns(visitor, "?status=draft")


async def _columns(visitor: Browser, query: str = "") -> list[str]:
    page = (await visitor.get(f"/dashboard/entries{query}")).text
    return re.findall(r'scope="col">([^<]+)<', page)


def status(position: int, lag: float | None) -> ServiceStatus:
    model = ReadModelStatus(position, 1, datetime.now(UTC), [])
    behind = None if lag is None else Lag(position, 0, lag)
    return ServiceStatus(position, model, behind)


def test_charts_show_the_last_samples_with_gaps_for_unknown_values() -> None:
    history = LagHistory()
    assert history.lag(0.0) is None
    for at, position, lag in ((0, 10, 1.0), (5, 20, 4.0), (10, 40, None), (15, 30, 2.0)):
        history.take(status(position, lag), float(at))
    lag_chart, rate = history.lag(15.0), history.rate(15.0)
    assert lag_chart is not None
    assert rate is not None
    assert lag_chart.lines == ["295.0,45.0 296.7,0.0", "300.0,30.0"]
    assert (lag_chart.highest, lag_chart.latest) == (4.0, 2.0)
    assert len(rate.lines) == 1, "a checkpoint that went back has no rate"
    assert (rate.highest, rate.latest) == (4.0, None)


async def test_the_charts_show_what_the_process_has_sampled(
    database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.dashboard.lag_history.INTERVAL", 0.1)
    async with serving(database_url, repository) as server:
        acme = await server.workspace()
        await acme.content_type()
        await server.caught_up()
        async with signed_in(server) as visitor:

            async def charts() -> int:
                page = (await visitor.get("/dashboard/projections")).text
                assert ("The first values appear" in page) is ("<polyline" not in page)
                return page.count("<polyline")

            await until(charts)
            assert await charts() == 1, "the rate is of all workspaces, for operators"
            page = (await visitor.get("/dashboard/projections")).text
            assert re.search(r'aria-label="Lag: \d.\d s now, \d.\d at most"', page)
