"""An event's time is cut to milliseconds and never earlier than the last of its stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from tests.integration.write_side.handler_fixtures import AUTHORS, SCOPE, STAGE, World, hashed
from write_side import commands as c
from write_side import decision
from write_side.domain.definition import Field
from write_side.domain.events import Plan
from write_side.repository import Repository

NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)


class Clock:
    """A clock that goes back an hour whenever it is looked at."""

    def __init__(self) -> None:
        self.looked = 0

    def now(self, zone: tzinfo) -> datetime:
        self.looked += 1
        return NOON.astimezone(zone) - timedelta(hours=self.looked)


VIEW = ("content.view",)
FILE = {"url": "https://example.com/a.png", "content_type": "image/png"}


async def test_time_never_goes_back_within_a_stream_though_the_clock_does(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(decision, "datetime", clock)
    world = World(repository)
    await world.workspace()
    await world.do(c.RenameWorkspace, workspace="acme", name="A")
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(staging=True))
    await world.do(c.AddEnvironment, scope=STAGE)
    key = {"workspace": "acme", "name": "k"}
    await world.do(c.IssueKey, **key, permissions=VIEW, secret_hash=hashed("s"))
    await world.do(c.PermitKey, **key, permissions=("content.edit",))
    await world.do(c.RevokeKey, **key)
    await world.content_type("authors", AUTHORS)
    revised = (*AUTHORS, Field("b", "B", "text"))
    place = {"scope": SCOPE, "slug": "authors"}
    await world.do(c.ReviseContentType, **place, name="Authors", fields=revised)
    entry = await world.entry("a", "authors")
    await world.update(entry, title="b")
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=entry)
    await world.do(c.RemoveContentType, **place)
    media = {"workspace": "acme", "media_id": "hero"}
    await world.do(c.PutMedia, **media, **FILE, name="a")
    await world.do(c.PutMedia, **media, **FILE, name="b")
    await world.do(c.RemoveMedia, **media)
    await world.do(c.PutMedia, **media, **FILE, name="c")

    streams: dict[str, list[Any]] = {}
    for row in await repository.recorder.log(0, 100):
        event = repository.mapper.decode(row["topic"], row["state"])
        streams.setdefault(row["originator_id"], []).append(event)
    assert sorted(len(events) for events in streams.values()) == [3, 3, 3, 4, 4]
    assert clock.looked == 17
    for events in streams.values():
        assert {event.at for event in events} == {events[0].at}
        assert events[0].at.microsecond == 123000
        assert all(event.request_id and event.actor.id for event in events)
