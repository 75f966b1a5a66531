"""The feed equals a naive fold of the log, for any selection and any size of page, whether the read
model was followed or rebuilt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from read_side.changes import (
    BEGINNING,
    END,
    ChangeRecord,
    ChangeSelection,
    changes_after,
    position_before,
)
from read_side.notices import CHANNEL, Notice, decode_notice
from read_side.pool import Pool, open_pool
from tests.databases import Databases
from tests.integration.live_projector import connected, project_all
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import rebuild
from write_side.domain.events import CHANGE_KINDS
from write_side.domain.identity import Scope
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

SCOPES = [
    Scope(workspace, environment)
    for workspace in ("acme", "other")
    for environment in ("production", "staging")
]
LOG = "SELECT notification_id, topic, state, at FROM write_side.event ORDER BY notification_id"
PROPERTY = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
selections = st.builds(
    ChangeSelection,
    st.sets(st.sampled_from(["type-0", "type-1", "type-2", "nothing"])).map(tuple),
    st.sets(st.sampled_from(CHANGE_KINDS), min_size=1).map(tuple) | st.just(CHANGE_KINDS),
    st.booleans(),
)


async def naive_feed(url: str) -> dict[Scope, list[dict[str, Any]]]:
    """The feed, computed from the stored JSON of the events alone."""
    found: dict[Scope, list[dict[str, Any]]] = {scope: [] for scope in SCOPES}
    types: dict[str, str] = {}
    entries: dict[str, dict[str, Any]] = {}
    async with connected(url) as connection:
        log = await connection.fetch(LOG)
    for position, topic, state, at in log:
        event = msgspec.json.decode(state)
        what, _, deed = topic.removesuffix(".v1").partition(".")
        if what not in ("entry", "content_type"):
            continue
        type_id = event["content_type_id"]
        if what == "content_type":
            types.setdefault(type_id, event.get("slug", ""))
            kind = "contentType.removed" if deed == "removed" else "contentType.changed"
            change = {"subject": type_id, "kind": kind, "published": True}
        else:
            before = entries.get(event["entry_id"], {"version": 0, "status": None})
            after = (
                {**before, "status": "draft", "language": "en-US"} if deed == "created" else before
            )
            after = {**after, "version": before["version"] + 1} | {
                name: event[name] for name in ("slug", "status", "language") if name in event
            }
            entries[event["entry_id"]] = after
            change = {
                "subject": event["entry_id"],
                "kind": "entry." + naive_kind(deed, before["status"], after["status"]),
                "published": "published" in (before["status"], after["status"]),
                **after,
            }
        scope = Scope(event["workspace"], event["environment"])
        found[scope].append(
            {"position": position, "content_type": types[type_id], "at": at, **change}
        )
    return found


def naive_kind(deed: str, before: str | None, after: str) -> str:
    if deed != "updated" or before == after:
        return deed
    return {"published": "published", "archived": "archived"}.get(
        after, "unpublished" if before == "published" else "updated"
    )


def selected(feed: list[dict[str, Any]], selection: ChangeSelection) -> Iterator[dict[str, Any]]:
    for change in feed:
        if selection.types and change["content_type"] not in selection.types:
            continue
        if change["kind"] in selection.kinds and (
            change["published"] or not selection.published_only
        ):
            yield change


async def in_pages(pool: Pool, scope: Scope, selection: ChangeSelection, limit: int) -> list[Any]:
    """Each page begins after the last change of the previous page."""
    found: list[Any] = []
    after = BEGINNING
    while True:
        page = await changes_after(pool, scope, selection, after, limit)
        assert page.previous == (found[-1] if found else None)
        assert page.anchor == page.previous
        assert all(selection.includes(change) for change in page.changes)
        found += page.changes
        if page.is_last:
            break
        assert len(page.changes) == limit
        after = found[-1].position
    last = await changes_after(pool, scope, selection, END, 1)
    assert last.changes == []
    assert last.previous == (found[-1] if found else None)
    return found


@pytest.mark.parametrize(
    ("seed", "steps", "examples"),
    [(3, 250, 15), *(pytest.param(seed, 700, 60, marks=pytest.mark.slow) for seed in (1, 2))],
)
def test_any_selection_of_the_feed_is_a_naive_fold_of_the_log(
    databases: Databases, seed: int, steps: int, examples: int
) -> None:
    with databases.new() as url, asyncio.Runner() as runner:
        feed = runner.run(expected_feed(url, seed, steps))
        pool = Pool(url)

        @settings(PROPERTY, max_examples=examples)
        @given(st.sampled_from(SCOPES), selections, st.integers(1, 30))
        def check(scope: Scope, selection: ChangeSelection, limit: int) -> None:
            found = runner.run(in_pages(pool, scope, selection, limit))
            expected = list(selected(feed[scope], selection))
            assert [in_terms_of(change, expected) for change in found] == expected

        check()
        runner.run(rebuild(url))
        check()
        pool.close()


async def expected_feed(url: str, seed: int, steps: int) -> dict[Scope, list[dict[str, Any]]]:
    async with open_recorder(url) as recorder:
        await RandomCommands(Repository(recorder, EventMapper()), seed).execute(steps)
    await project_all(url, url, [7, 1, 40])
    feed = await naive_feed(url)
    kinds = {change["kind"] for changes in feed.values() for change in changes}
    assert len(kinds) == 8, "the story has something of each"
    return feed


def in_terms_of(change: Any, expected: list[dict[str, Any]]) -> dict[str, Any]:
    """A change in the terms of the naive feed."""
    names = {"position", "content_type", "at", "kind", "published", "subject"}
    if change.entry_id is not None:
        names |= {"version", "slug", "status", "language"}
    return {name: getattr(change, name) for name in names}


async def test_notices_have_the_changes_as_they_are_read(database_url: str) -> None:
    async with open_recorder(database_url) as recorder:
        await RandomCommands(Repository(recorder, EventMapper()), 3).execute(150)
    notices: list[Notice] = []
    async with connected(database_url) as listener, open_pool(database_url) as pool:
        await listener.add_listener(CHANNEL, lambda *one: notices.append(decode_notice(one[-1])))
        await project_all(database_url, database_url, [1, 5])
        await listener.execute("SELECT")
        fed = {scope: list[ChangeRecord]() for scope in SCOPES}
        for notice in notices:
            for scope, changes in notice.environments().items():
                assert changes is not None
                fed[scope] += changes
        read = {scope: await in_pages(pool, scope, ChangeSelection(), 500) for scope in SCOPES}
    assert fed == read
    assert sum(map(len, read.values())) > 100


@pytest.mark.slow
async def test_the_position_before_a_time_is_found_by_bisection(database_url: str) -> None:
    feed = await expected_feed(database_url, 1, 700)
    async with open_pool(database_url) as pool:
        for scope in SCOPES:
            times = sorted({change["at"] for change in feed[scope]})
            for time in times[:: max(1, len(times) // 15)]:
                before = [c["position"] for c in feed[scope] if c["at"] < time]
                assert await position_before(pool, scope, time) == max(before, default=0)
