"""A list as of a time equals the fold of the log up to that time, for any history, time, list and
page."""

from __future__ import annotations

import itertools
import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from api.rest.point_in_time import ListBudget, list_at, rendered
from projector.log import Log
from projector.projection import RecordedEvent
from read_side import past_lists, past_versions
from read_side.entries import EntryRow
from read_side.pool import open_pool
from read_side.queries.request import EntryQuery, Filter, SortKey
from read_side.refusals import TooBroad, TypeNotFound
from tests.integration.live_projector import connected, dump, project_all
from tests.integration.projector.random_log import LANGUAGES, LOCALES, STATUSES, RandomCommands
from tests.integration.projector.read_model_views import service_on
from tests.integration.projector.rebuilds import rebuild
from tests.store_clock import Clock, follow_clock
from write_side.domain import content_type as content_types
from write_side.domain import entry as entries
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import ContentTypeEvent, EntryEvent
from write_side.domain.identity import Scope
from write_side.repository import Repository

STEPS = [timedelta(milliseconds=n) for n in (0, 0, 0, 1, 1, 7, 1_000, 3_600_000, 30 * 86_400_000)]
SCOPES = [Scope("acme", "production"), Scope("acme", "staging"), Scope("other", "production")]


async def random_log(url: str, repository: Repository, rng: random.Random) -> list[RecordedEvent]:
    """A random log, in which several commands often have the same time."""
    await follow_clock(url)
    story = RandomCommands(repository, rng.randrange(1_000))
    await story.execute(20)
    for _ in range(60):
        Clock.time += rng.choice(STEPS)
        await story.go_on(3)
    async with connected(url) as store:
        log, events = Log(store), list[RecordedEvent]()
        while batch := await log.read(len(events)):
            events += batch
        return events


class Folded:
    """A naive fold of the log up to a time."""

    def __init__(self, events: list[RecordedEvent], at: datetime) -> None:
        self.entries: dict[str, Entry] = {}
        """In the order of the log."""
        self.types: dict[str, ContentType] = {}
        for one in events:
            event: Any = one.event
            if event.at > at:
                break
            if isinstance(event, EntryEvent):
                before = self.entries.get(event.entry_id)
                self.entries[event.entry_id] = entries.evolve(before, event)
            elif isinstance(event, ContentTypeEvent):
                known = self.types.get(event.content_type_id)
                self.types[event.content_type_id] = content_types.evolve(known, event)

    def whole(self, scope: Scope, query: EntryQuery) -> list[Entry] | None:
        """The whole list; None for a content type that did not exist."""
        living = (one for one in self.types.values() if one.scope == scope and not one.removed)
        types = {one.id: one.slug for one in living}
        if query.type_slug not in (None, *types.values()):
            return None
        found = [
            one
            for one in reversed(self.entries.values())
            if one.scope == scope
            and not one.deleted
            and query.type_slug in (None, types[one.content_type_id])
            and query.status in (None, one.status)
            and query.language in (None, one.language)
            and all(_meets(one, types[one.content_type_id], each) for each in query.filters)
        ]
        for key in reversed(query.sort):
            there = [one for one in found if _value(one, key.field) is not None]
            there.sort(key=lambda one: _value(one, key.field), reverse=key.descending)
            found = there + [one for one in found if _value(one, key.field) is None]
        return found

    def rendered(self, found: list[Entry], locale: str) -> list[EntryRow]:
        return [rendered(one, self.types[one.content_type_id], locale) for one in found]


VALUES = {"createdAt": "created_at", "updatedAt": "updated_at", "publishedAt": "published_at"}


def _value(entry: Entry, field: str) -> Any:
    return getattr(entry, VALUES.get(field, field))


def _meets(entry: Entry, type_slug: str, one: Filter) -> bool:
    value = type_slug if one.field == "contentType" else _value(entry, one.field)
    given: Any = one.values[0]
    if one.field in VALUES and one.operator != "exists":
        given = datetime.fromisoformat(given)
    match one.operator:
        case "eq":
            return bool(value == given)
        case "ne":
            return bool(value != given)
        case "in":
            return bool(value in one.values)
        case "exists":
            return bool((value is not None) == (given == "true"))
        case "startsWith":
            return bool(value.startswith(given))
        case "contains":
            return bool(given.lower() in value.lower())
        case "lt":
            return bool(value is not None and value < given)
        case "gte":
            return bool(value is not None and value >= given)
    raise AssertionError(one.operator)


def queries(rng: random.Random, at: datetime) -> list[tuple[Scope, EntryQuery]]:
    """Lists and pages of them, half of them with filters or sort keys."""
    before = (at - rng.choice(STEPS)).isoformat()
    filters = [
        Filter("slug", "startsWith", ("slug-1",)),
        Filter("slug", "gte", ("slug-5",)),
        Filter("title", "contains", ("IT",)),
        Filter("title", "ne", ("Title",)),
        Filter("publishedAt", "exists", (rng.choice(["true", "false"]),)),
        Filter("createdAt", "lt", (before,)),
        Filter("updatedAt", "gte", (before,)),
        Filter("status", "ne", ("draft",)),
        Filter("contentType", "in", ("type-0", "type-1")),
        Filter("language", "eq", ("sv-SE",)),
    ]
    sorts = [
        (SortKey("slug"),),
        (SortKey("publishedAt"), SortKey("slug", descending=True)),
        (SortKey("updatedAt", descending=True),),
    ]
    of_type = [None, *(f"type-{n}" for n in range(4))]
    every = itertools.product(SCOPES, of_type, [None, *STATUSES], [None, *set(LANGUAGES), "xx-XX"])
    pages = [(1, 0), (3, 2), (100, 0), (2, 7), (5, 10**15)]
    found = []
    for scope, of, status, language in rng.sample(list(every), 40):
        limit, offset = rng.choice(pages)
        is_plain = rng.random() < 0.5
        query = EntryQuery(
            type_slug=of,
            status=status,
            language=language,
            limit=limit,
            offset=offset,
            filters=() if is_plain else tuple(rng.sample(filters, rng.randrange(3))),
            sort=() if is_plain else rng.choice([(), *sorts]),
        )
        found.append((scope, query))
    return found


@pytest.mark.parametrize(
    ("seed", "few", "looks"),
    [
        (1, 4, 2),
        *(pytest.param(*case, 8, marks=pytest.mark.slow) for case in ((0, 1), (1, 4), (2, 500))),
    ],
)
async def test_a_list_at_any_moment_is_the_fold_of_the_log(
    seed: int,
    few: int,
    looks: int,
    repository: Repository,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``few``: so that pages are built from all versions, or from the newest ones."""
    monkeypatch.setattr(past_versions, "FEW", few)
    rng = random.Random(seed)
    events = await random_log(database_url, repository, rng)
    await project_all(database_url, database_url, [rng.choice([1, 7, 100])])
    moments = sorted({one.event.at for one in events})
    async with open_pool(database_url) as pool:
        service = service_on(pool, repository, lambda: Clock.time)
        for at in [*rng.sample(moments, looks), moments[-1]]:
            folded = Folded(events, at + timedelta(microseconds=rng.randrange(900)))
            for scope, query in queries(rng, at):
                locale = rng.choice([*LOCALES, "en-US"])
                expected = folded.whole(scope, query)
                try:
                    then = replace(query, as_of=at)
                    found = await list_at(service, scope, then, ListBudget(), locale=locale)
                except TypeNotFound:
                    assert expected is None, (at, scope, query)
                    continue
                assert expected is not None, (at, scope, query)
                assert found.total == len(expected), (at, scope, query)
                page = expected[query.offset : query.offset + query.limit]
                rows = [one.row for one in found.entries]
                assert rows == folded.rendered(page, locale), (at, scope, query)


@pytest.mark.parametrize(
    "sort",
    [
        pytest.param((), marks=pytest.mark.slow),
        (SortKey("slug", descending=True),),
        pytest.param((SortKey("publishedAt"),), marks=pytest.mark.slow),
    ],
)
async def test_cursors_visit_each_entry_of_the_past_list_once(
    sort: tuple[SortKey, ...], repository: Repository, database_url: str
) -> None:
    events = await random_log(database_url, repository, random.Random(5))
    await project_all(database_url, database_url)
    middle = events[2 * len(events) // 3]
    moment = past_lists.Moment(middle.event.at, middle.position)
    moment = replace(moment, position=max(e.position for e in events if e.event.at <= moment.at))
    query = EntryQuery(type_slug=None, status=None, language=None, limit=2, sort=sort)
    expected = Folded(events, moment.at).whole(SCOPES[0], query)
    assert expected is not None
    assert len(expected) > 5
    found: list[str] = []
    async with open_pool(database_url) as pool:
        while True:
            page = await past_lists.past_page(pool, SCOPES[0], query, moment)
            assert page.total == len(expected)
            found += (one.id for one in page.rows)
            if page.next is None:
                break
            query = replace(query, after=page.next)
    assert found == [one.id for one in expected]


@pytest.mark.slow
async def test_a_rebuilt_read_model_has_the_same_versions(
    repository: Repository, database_url: str
) -> None:
    await random_log(database_url, repository, random.Random(9))
    await project_all(database_url, database_url, [3, 11])
    followed = await dump(database_url)
    assert len(followed["past_version"]) > 50
    result = await rebuild(database_url)
    assert result.differences == []
    assert await dump(database_url) == followed


@pytest.mark.slow
async def test_a_list_that_would_read_too_many_versions_is_refused(
    repository: Repository, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_versions, "FEW", 1)
    for module in (past_lists, past_versions):
        monkeypatch.setattr(module, "CHECKED", 5)
    events = await random_log(database_url, repository, random.Random(9))
    await project_all(database_url, database_url)
    middle = events[len(events) // 2]
    moment = past_lists.Moment(middle.event.at, middle.position)
    async with open_pool(database_url) as pool:

        async def page(**more: Any) -> past_lists.PastPage:
            properties = {"type_slug": None, "status": None, "language": None, "limit": 1, **more}
            return await past_lists.past_page(pool, SCOPES[0], EntryQuery(**properties), moment)

        assert len((await page()).rows) == 1
        for more, reason in (
            ({"limit": 5, "offset": 12}, "versions for this page"),
            ({"sort": (SortKey("title"),)}, "checks the versions that were replaced since"),
        ):
            with pytest.raises(TooBroad, match=reason):
                await page(**more)
        monkeypatch.setattr(past_versions, "COUNTED", 5)
        assert (await page()).total is None
        monkeypatch.setattr(past_versions, "KINDS", 2)
        with pytest.raises(TooBroad, match="2 combinations"):
            await page()
