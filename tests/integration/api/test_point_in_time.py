"""``?asOf=``: an entry as it was, found by its slug of that time, under its content type of that
time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from api.rest import parameters, point_in_time
from read_side.entries import slug_owner
from tests.integration.api.graphql import counting
from tests.integration.api.server import Answer, Client, Server
from tests.integration.projector.sample_log import BODY, LEAD, STAGES, ContentBuilder, raws
from tests.store_clock import BEGINNING, Clock, follow_clock
from write_side import commands as c
from write_side.domain.definition import Stage
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownEntry
from write_side.store import recorder

POST = "/v1/content/posts/one"
NO_ENTRY = {"error": "Content entry not found"}
NO_TYPE = {"error": "Content type not found"}


@pytest.fixture(autouse=True)
async def clock(database_url: str) -> None:
    await follow_clock(database_url)


def tick() -> datetime:
    """Advance the clock by a second; return the time before, by which all earlier events have
    happened."""
    before = Clock.time
    Clock.time += timedelta(seconds=1)
    return before


async def at(client: Client, time: datetime, path: str = POST, **more: str) -> Answer:
    query = "".join(f"&{name}={quote(value)}" for name, value in more.items())
    return await client.get(f"{path}?asOf={quote(time.isoformat())}{query}")


async def title(client: Client, time: datetime, path: str = POST, **more: str) -> Any:
    answer = await at(client, time, path, **more)
    return answer.data["title"] if answer.status == 200 else answer.body


async def of_id(
    server: Server, builder: ContentBuilder, entry_id: str, at: datetime
) -> point_in_time.PastEntry:
    return await point_in_time.entry_of_id(
        server.service, builder.scope, entry_id=entry_id, locale="en-US", at=at
    )


async def test_an_entry_as_it_was_after_each_change(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, stages=STAGES)
    tick()
    entry_id = await acme.entry("one", fields=raws(body="Hello"))
    created = tick()
    await acme.update(entry_id, title="Two", status="published", stage_id="review")
    published = tick()
    await acme.update(entry_id, status="archived", fields=raws(body=None))
    tick()
    await server.caught_up()
    now = (await client.get(POST)).data
    first = (await at(client, created)).data
    assert set(first) == set(now)
    assert {**now, **first} == {
        **now,
        "title": "One",
        "status": "draft",
        "stage": {"id": "writing", "name": "Writing"},
        "publishedAt": None,
        "updatedAt": first["createdAt"],
        "fields": {"body": "Hello"},
    }
    second = (await at(client, published)).data
    assert (second["title"], second["status"]) == ("Two", "published")
    assert second["stage"] == {"id": "review", "name": "Review"}
    assert second["publishedAt"] == second["updatedAt"] == "2026-01-31T09:30:02.000Z"
    assert (await at(client, Clock.time)).data == now


async def test_a_past_entry_reads_the_position_of_its_time_once(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type()
    await acme.entry("one")
    await server.caught_up()
    with counting(monkeypatch) as statements:
        assert await title(client, Clock.time) == "One"
    assert statements.count(recorder._POSITION_AT) == 1


async def test_a_time_has_milliseconds(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    Clock.time += timedelta(milliseconds=7)
    await acme.entry("one")
    await server.caught_up()
    assert await title(client, Clock.time) == "One"
    assert await title(client, Clock.time + timedelta(microseconds=1)) == "One"
    assert await title(client, Clock.time - timedelta(microseconds=1)) == NO_ENTRY
    assert await title(client, BEGINNING - timedelta(milliseconds=1)) == NO_TYPE
    assert (await client.get(f"{POST}?asOf=2026-01-31T10:30:00.007%2B01:00")).status == 200
    assert (await client.get(f"{POST}?asOf=2026-02-01")).status == 200
    assert (await client.get(f"{POST}?asOf=2026-01-31")).body == NO_TYPE


async def test_the_clock_of_the_store_decides_what_is_in_the_past(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    """The clock of this machine may be years off."""
    Clock.time = datetime(2090, 1, 31, tzinfo=UTC)
    await acme.content_type()
    await acme.entry("one")
    await server.caught_up()
    assert await title(client, Clock.time) == "One"
    later = Clock.time + timedelta(seconds=1)
    future = {"error": parameters.future_time(later).args[0]}
    assert (await at(client, later)).body == future
    Clock.time = later
    assert await title(client, later) == "One"


async def test_the_present_millisecond_is_not_in_the_future(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    """Client clocks are more precise than event times."""
    await acme.content_type()
    Clock.time = datetime(2090, 1, 31, tzinfo=UTC)
    await acme.entry("one")
    await server.caught_up()
    assert await title(client, Clock.time + timedelta(microseconds=999)) == "One"
    assert (await at(client, Clock.time + timedelta(microseconds=1_000))).status == 400


async def test_a_slug_finds_the_entry_that_had_it_then(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    first = await acme.entry("one", title="First")
    had_by_first = tick()
    await acme.update(first, slug="two")
    free = tick()
    second = await acme.entry("one", title="Second")
    had_by_second = tick()
    await acme.delete(second)
    free_again = tick()
    await acme.update(first, slug="one")
    had_by_first_again = tick()
    await acme.entry("two", title="Third")
    await server.caught_up()
    seen = {
        slug: [
            await title(client, time, f"/v1/content/posts/{slug}")
            for time in (had_by_first, free, had_by_second, free_again, had_by_first_again)
        ]
        for slug in ("one", "two")
    }
    assert seen == {
        "one": ["First", NO_ENTRY, "Second", NO_ENTRY, "First"],
        "two": [NO_ENTRY, "First", "First", "First", NO_ENTRY],
    }
    assert await title(client, Clock.time, "/v1/content/posts/two") == "Third"


async def test_a_clock_set_back_does_not_change_who_had_a_slug(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    """The time of the log stands still until the clock has passed the last event."""
    await acme.content_type()

    async def have(title: str, since: int, until: int | None) -> None:
        Clock.time = BEGINNING + timedelta(seconds=since)
        entry_id = await acme.entry("one", title=title)
        if until is not None:
            Clock.time = BEGINNING + timedelta(seconds=until)
            await acme.delete(entry_id)

    await have("First", since=10, until=20)
    await have("Second", since=14, until=24)
    await have("Third", since=11, until=None)
    await server.caught_up()
    seconds = [BEGINNING + timedelta(seconds=n) for n in (12, 19, 20, 23, 24)]
    found = [await title(client, time) for time in seconds]
    assert found == ["First", "First", "Second", "Second", "Third"]


async def test_the_content_type_is_that_of_the_past_time(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, stages=STAGES)
    entry_id = await acme.entry("one", fields=raws(body="Hello"))
    first = tick()
    await acme.revise_type(LEAD, stages=(Stage("other", "Other"),))
    revised = tick()
    await acme.delete(entry_id)
    await acme.execute(c.RemoveContentType, scope=acme.scope, slug="posts")
    removed = tick()
    again = await acme.content_type(LEAD)
    made_again = tick()
    await server.caught_up()
    then = (await at(client, first)).data
    assert then["fields"] == {"body": "Hello"}
    assert (then["stage"]["id"], then["contentType"]["name"]) == ("writing", "Posts")
    assert then["contentType"]["id"] != again
    later = (await at(client, revised)).data
    assert (later["fields"], later["stage"]["id"]) == ({"lead": None}, "other")
    assert await title(client, removed) == NO_TYPE
    assert await title(client, made_again) == NO_ENTRY


async def test_translations_languages_and_environments_in_the_past(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    staging = await acme.staging()
    await staging.content_type()
    texts = {"fr-FR": Translation("Un", raws(body="Bonjour"))}
    entry_id = await acme.entry("one", fields=raws(body="Hello"), translations=texts)
    await acme.entry("one", language="sv-SE", title="Ett")
    await staging.entry("one", title="Rehearsal")
    then = tick()
    await acme.translate(entry_id, "fr-FR", title="Deux")
    await acme.update(entry_id, title="Two")
    await server.caught_up()
    french = (await at(client, then, locale="fr-FR")).data
    assert (french["title"], french["locale"]) == ("Un", "fr-FR")
    assert french["fields"] == {"body": "Bonjour"}
    assert await title(client, then, locale="de-DE") == "One"
    assert await title(client, then, language="sv-SE") == "Ett"
    assert await title(client, then, environment="staging") == "Rehearsal"
    assert await title(client, then, language="xx") == NO_ENTRY


async def test_the_past_of_another_workspace_is_not_found(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    other = await server.workspace("other")
    for builder in (acme, other):
        await builder.content_type()
    entry_id = await other.entry("one", title="Theirs")
    living = tick()
    await other.update(entry_id, slug="two")
    tick()
    await other.delete(entry_id)
    await server.caught_up()
    assert await title(client, living) == NO_ENTRY
    assert await title(server.client("secret-of-other"), living) == "Theirs"
    found = await of_id(server, other, entry_id, living)
    assert (found.row.title, found.entry.version) == ("Theirs", 1)
    with pytest.raises(UnknownEntry):
        await of_id(server, acme, entry_id, living)


async def test_an_entry_is_found_by_id_regardless_of_its_slug(
    acme: ContentBuilder, server: Server
) -> None:
    before = tick()
    await acme.content_type()
    entry_id = await acme.entry("one")
    living = tick()
    await acme.update(entry_id, slug="two", title="Two")
    await acme.delete(entry_id)
    assert (await of_id(server, acme, entry_id, living)).row.title == "One"
    for nothing, time in ((entry_id, before), (entry_id, Clock.time), ("no id", living)):
        with pytest.raises(UnknownEntry):
            await of_id(server, acme, nothing, time)


async def test_the_log_has_what_the_read_model_lacks(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read model may still assign a slug that the entry has already given up in the log."""
    await acme.content_type()
    entry_id = await acme.entry("one")
    then = tick()
    await server.caught_up()
    stale = await slug_owner(
        server.service.read_model,
        Scope("acme", "production"),
        type_slug="posts",
        slug="one",
        language="en-US",
        at=Clock.time,
    )
    await acme.update(entry_id, slug="two")

    async def outdated(*_: object, **__: object) -> Any:
        return stale

    monkeypatch.setattr(point_in_time, "slug_owner", outdated)
    assert await title(client, then) == "One"
    assert await title(client, Clock.time) == NO_ENTRY


async def test_the_past_never_changes_and_has_an_etag(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    entry_id = await acme.entry("one")
    then = tick()
    await server.caught_up()
    first = await at(client, then)
    await acme.update(entry_id, title="Two")
    await server.caught_up()
    again = await client.get(
        f"{POST}?asOf={quote(then.isoformat())}", headers={"If-None-Match": first.headers["ETag"]}
    )
    assert (again.status, again.text) == (304, "")
