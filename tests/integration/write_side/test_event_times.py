"""Events get their time from the event store's clock, and time never goes back in the log."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from tests.integration.live_projector import connected
from tests.integration.write_side.handler_fixtures import SCOPE, magazine
from tests.integration.write_side.sample_commands import ACTOR
from write_side import commands as c
from write_side import dispatch
from write_side.domain.events import EntryCreated
from write_side.repository import Repository

YEAR = timedelta(days=365)
SET_LAST = "UPDATE write_side.head SET at = date_trunc('milliseconds', now()) + $1::interval"
CLOCK = "SELECT date_trunc('milliseconds', clock_timestamp()) AS at"


async def _times(repository: Repository) -> list[datetime]:
    return [row["at"] for row in await repository.recorder.log(0, 1_000)]


async def _clock(repository: Repository) -> datetime:
    [row] = await repository.recorder.fetch(CLOCK)
    at: datetime = row["at"]
    return at


async def _last_event_at(url: str, ahead: timedelta) -> None:
    """Sets the time of the last event, as if the store's clock had been ahead."""
    async with connected(url) as connection:
        await connection.execute(SET_LAST, ahead)


class _FastClock(datetime):
    """The clock of a host, a year ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + YEAR


async def test_the_clock_of_the_host_does_not_matter(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    began = await _clock(repository)
    for name in ("write_side.dispatch", "write_side.decision", "write_side.store.append"):
        monkeypatch.setattr(f"{name}.datetime", _FastClock, raising=False)
    monkeypatch.setattr(time, "time", lambda: real() + YEAR.total_seconds())
    context = await magazine(repository)
    await context.entry("a", "authors")
    ended = await _clock(repository)
    assert all(began <= at <= ended for at in await _times(repository))


async def test_the_response_has_the_time_of_the_log(
    repository: Repository, database_url: str
) -> None:
    await magazine(repository)
    await _last_event_at(database_url, YEAR)
    create = c.CreateEntry(
        actor=ACTOR, scope=SCOPE, content_type_slug="authors", title="One", fields={}
    )
    executed = await dispatch.execute(create, repository)
    last = (await _times(repository))[-1]
    [event] = executed.events
    assert isinstance(event.event, EntryCreated)
    assert event.event.at == last > datetime.now(UTC) + YEAR - timedelta(days=1)
    replayed = await dispatch.execute(create, repository)
    assert replayed.replayed
    assert replayed.events == executed.events
    entry = await repository.entry(SCOPE, event.event.entry_id)
    assert (entry.created_at, entry.updated_at) == (last, last)


async def test_time_stands_still_while_the_clock_is_behind_the_last_event(
    repository: Repository, database_url: str
) -> None:
    """In all streams, also for concurrent appends."""
    context = await magazine(repository)
    await _last_event_at(database_url, YEAR)
    first = await context.entry("a", "authors")
    await _last_event_at(database_url, 2 * YEAR)
    await asyncio.gather(*(context.entry(f"b{n}", "authors") for n in range(20)))
    await context.update(first, title="b")
    times = await _times(repository)
    assert times == sorted(times)
    assert len(set(times[-21:])) == 1
    assert times[-1] - times[-22] > YEAR - timedelta(days=1)


async def test_time_is_cut_to_milliseconds_and_advances(repository: Repository) -> None:
    context = await magazine(repository)
    await asyncio.sleep(0.003)
    await context.entry("a", "authors")
    times = await _times(repository)
    assert times == sorted(times)
    assert times[-1] > times[0]
    assert all(at.microsecond % 1000 == 0 for at in times)
    assert await repository.recorder.time() >= times[-1]
