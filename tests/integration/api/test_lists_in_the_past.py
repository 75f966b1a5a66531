"""``?asOf=`` on lists: the entries of that time, as they were, over REST and GraphQL."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from api.rest import point_in_time
from api.rest.point_in_time import ListBudget
from read_side import past_lists, past_versions
from read_side.queries import budget, finder
from tests.integration.api.server import Answer, Client, Server
from tests.integration.api.test_point_in_time import at, clock, tick
from tests.integration.projector.sample_log import BODY, LEAD, STAGES, ContentBuilder, raws
from tests.integration.write_side.append_locks import holding
from tests.store_clock import Clock
from write_side import commands as c
from write_side.domain.events import Translation
from write_side.entry_history import media_at

POSTS = "/v1/content/posts"
EVERYTHING = "/v1/content"
# An append of the same version gets its time, then waits for this transaction.
THIRD_VERSION = """
INSERT INTO write_side.event (notification_id, originator_id, originator_version, topic, state, at)
VALUES (1000000, $1, 3, 'test.happened.v1', '{}', now())"""
__all__ = ["clock"]


def titles(answer: Answer) -> list[str]:
    return [entry["title"] for entry in answer.data]


async def gql(client: Client, arguments: str, selected: str = "data { title }") -> Any:
    answer = await client.post(
        {"query": f"{{ contentEntries({arguments}) {{ {selected} }} }}"}, "/graphql"
    )
    return answer.body


async def test_lists_after_renames_publications_and_deletions(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY)
    one = await acme.entry("one", fields=raws(body="Hello"))
    two = await acme.entry("two", status="published")
    drafted = tick()
    await acme.update(one, title="Renamed", status="published", fields=raws(body="Bye"))
    published = tick()
    await acme.delete(two)
    again = await acme.entry("two", title="Again", status="archived")
    deleted = tick()
    await server.caught_up()
    assert titles(await at(client, drafted, POSTS)) == ["Two"]
    assert titles(await at(client, drafted, POSTS, status="draft")) == ["One"]
    assert titles(await at(client, published, POSTS)) == ["Two", "Renamed"]
    assert titles(await at(client, deleted, POSTS)) == ["Renamed"]
    assert titles(await at(client, deleted, POSTS, status="archived")) == ["Again"]
    everything = [titles(await at(client, t, EVERYTHING)) for t in (drafted, published, deleted)]
    assert everything == [["Two", "One"], ["Two", "Renamed"], ["Again", "Renamed"]]
    [entry] = (await at(client, drafted, POSTS, status="draft")).data
    single = (await at(client, drafted, f"{POSTS}/one")).data
    assert entry == {name: single[name] for name in entry}
    assert entry["fields"] == {"body": "Hello"}
    assert again != two


async def test_a_page_has_the_total_and_the_shape_of_the_list_now(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    for number in range(5):
        await acme.entry(f"entry-{number}", status="published")
    await server.caught_up()
    now = Clock.time
    for path in (POSTS, EVERYTHING):
        for page in ("limit=2", "limit=2&offset=3", "limit=2&offset=9", "limit=0"):
            expected = await client.get(f"{path}?{page}")
            found = await client.get(f"{path}?{page}&asOf={quote(now.isoformat())}")
            assert found.body == expected.body
            assert found.headers["ETag"] == expected.headers["ETag"]


async def test_removed_types_and_types_as_they_were(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    before = tick()
    await acme.content_type(BODY)
    entry_id = await acme.entry("one", status="published", fields=raws(body="Hello"))
    living = tick()
    await acme.revise_type(LEAD)
    await acme.delete(entry_id)
    await acme.execute(c.RemoveContentType, scope=acme.scope, slug="posts")
    removed = tick()
    await acme.content_type(LEAD)
    again = tick()
    await server.caught_up()
    assert (await at(client, before, POSTS)).status == 404
    assert (await at(client, before, EVERYTHING)).data == []
    for path in (POSTS, EVERYTHING, f"{EVERYTHING}?type=posts"):
        path, _, query = path.partition("?")
        [entry] = (await at(client, living, path, **dict([query.split("=")] if query else []))).data
        assert entry["fields"] == {"body": "Hello"}
    assert (await at(client, removed, POSTS)).body == {"error": "Content type not found"}
    assert (await at(client, removed, EVERYTHING)).data == []
    assert (await at(client, again, POSTS)).body["pagination"]["total"] == 0


async def test_translations_and_languages(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    texts = {"fr-FR": Translation("Un", raws(body="Bonjour"))}
    entry_id = await acme.entry("one", status="published", translations=texts)
    await acme.entry("one", status="published", language="sv-SE", title="Ett")
    then = tick()
    await acme.translate(entry_id, "fr-FR", title="Deux")
    await server.caught_up()
    french = await at(client, then, POSTS, locale="fr-FR")
    assert [(one["title"], one["fields"]) for one in french.data] == [("Un", {"body": "Bonjour"})]
    assert titles(await at(client, then, POSTS, language="sv-SE")) == ["Ett"]
    assert titles(await at(client, then, POSTS, language="xx")) == []
    assert titles(await at(client, then, EVERYTHING, locale="fr-FR")) == ["Ett", "Un"]


async def test_a_part_of_a_text_is_found_as_before_the_change(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    """PostgreSQL and Python convert some letters to lower case differently. Sigma has two
    lower-case forms."""
    await acme.content_type()
    texts = ("ΚΌΣΜΟΣ", "Πόλεμος", "İstanbul")
    ids = [await acme.entry(text, title=text, status="published") for text in texts]
    then = tick()
    found_by = {"ΚΌΣ": 0, "σμοσ": 0, "σμος": 0, "ΛΕΜΟΣ": 1, "λεμος": 1, "ISTANBUL": 2}
    parts = [(field, part) for field in ("title", "slug") for part in found_by]

    async def found() -> list[list[str]]:
        await server.caught_up()
        filters = [{f"filter[{field}][contains]": part} for field, part in parts]
        return [titles(await at(client, then, POSTS, **one)) for one in filters]

    before = await found()
    for entry_id in ids:
        await acme.update(entry_id, title="Changed", slug=f"changed-{entry_id}")
    assert await found() == before == [[texts[number]] for number in found_by.values()] * 2


async def test_events_of_the_same_time_happen_at_once(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    """There is no moment between them."""
    await acme.content_type()
    one = await acme.entry("one")
    await acme.update(one, title="Two", status="published")
    two = await acme.entry("two", status="published")
    await acme.delete(two)
    same = tick()
    await server.caught_up()
    assert titles(await at(client, same, EVERYTHING)) == ["Two"]
    assert titles(await at(client, same - timedelta(microseconds=1), EVERYTHING)) == []
    assert titles(await at(client, same, POSTS, status="draft")) == []


async def test_a_key_for_published_entries_reads_those_published_then(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await server.key("reader", "acme", ("content.published",))
    reader = server.client("reader")
    await acme.content_type()
    one = await acme.entry("one")
    drafted = tick()
    await acme.update(one, status="published")
    published = tick()
    await acme.update(one, status="archived")
    await server.caught_up()
    assert titles(await at(reader, drafted, EVERYTHING)) == []
    assert titles(await at(reader, published, EVERYTHING)) == ["One"]
    assert titles(await at(reader, Clock.time, EVERYTHING)) == []
    assert (await at(reader, drafted, POSTS, status="draft")).status == 403
    moment = f'asOf: "{published.isoformat()}"'
    assert await gql(reader, moment) == {"data": {"contentEntries": {"data": [{"title": "One"}]}}}
    hidden = await gql(reader, f'asOf: "{drafted.isoformat()}"')
    assert hidden == {"data": {"contentEntries": {"data": []}}}


async def test_graphql_has_the_same_lists(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type()
    one = await acme.entry("one", fields=raws(body="Hello"))
    then = tick()
    await acme.update(one, title="Two", status="published")
    await acme.entry("three")
    await server.caught_up()
    found = await gql(
        client,
        f'type: "posts", status: draft, asOf: "{then.isoformat()}"',
        "data { title status version fields history { version } contentType { slug } } "
        "pagination { total limit }",
    )
    entry = {
        "title": "One",
        "status": "draft",
        "version": 1,
        "fields": {"body": "Hello"},
        "history": [{"version": 1}],
        "contentType": {"slug": "posts"},
    }
    page = {"data": [entry], "pagination": {"total": 1, "limit": 10}}
    assert found == {"data": {"contentEntries": page}}
    for future in ('asOf: "9999-12-31T00:00:00Z"', 'type: "nothing", asOf: "2026-01-31T09:30:00Z"'):
        assert (await gql(client, future))["errors"]


async def test_other_workspaces_and_environments_have_lists_of_their_own(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    other = await server.workspace("other")
    for builder in (acme, other):
        await builder.content_type()
    await other.update(await other.entry("one", title="Theirs"), title="Still theirs")
    then = tick()
    await other.update(await other.entry("two"), title="Too")
    await server.caught_up()
    assert titles(await at(client, then, EVERYTHING)) == []
    assert titles(await at(server.client("secret-of-other"), then, EVERYTHING)) == ["Still theirs"]


@pytest.mark.parametrize("path", [POSTS, f"{POSTS}/one"])
async def test_the_past_waits_until_it_is_projected(
    path: str, client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the past would change later."""
    await acme.content_type()
    await acme.entry("one", status="published")
    assert "One" in (await at(client, Clock.time, path)).text

    async def never(_position: int, _patience: float) -> bool:
        return False

    monkeypatch.setattr(server.service.checkpoint, "wait", never)
    behind = await at(client, Clock.time, path)
    assert (behind.status, behind.headers["Retry-After"]) == (503, "1")


@pytest.mark.parametrize("path", [POSTS, f"{POSTS}/one"])
async def test_the_past_waits_for_appends_in_progress(
    path: str, client: Client, acme: ContentBuilder, server: Server, database_url: str
) -> None:
    """Their events already have a time, so the past would otherwise change later."""
    await acme.content_type()
    one = await acme.entry("one", status="published")
    created = tick()
    await acme.update(one, title="Two")
    tick()
    await server.caught_up()
    async with holding(database_url, THIRD_VERSION, f"entry/{one}") as hold:
        update = asyncio.create_task(acme.update(one, title="Three"))
        await hold.until_blocked()
        appended = tick()
        during = asyncio.create_task(at(client, appended, path))
        assert "One" in (await at(client, created, path)).text
        done, _ = await asyncio.wait([during], timeout=0.1)
        assert not done
        await hold.release()
        await update
    assert "Three" in (await during).text


async def test_an_append_that_takes_too_long_is_503(
    client: Client, acme: ContentBuilder, server: Server, database_url: str
) -> None:
    await acme.content_type()
    one = await acme.entry("one", status="published")
    await acme.update(one, title="Two")
    server.service.settings = replace(server.service.settings, read_your_writes=0.05)
    async with holding(database_url, THIRD_VERSION, f"entry/{one}") as hold:
        update = asyncio.create_task(acme.update(one, title="Three"))
        await hold.until_blocked()
        answer = await at(client, tick(), POSTS)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        await hold.release()
        await update


async def test_a_list_of_long_histories_is_refused_but_each_entry_can_be_read(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_in_time, "EVENTS", 3)
    await acme.content_type()
    for slug in ("one", "two"):
        entry_id = await acme.entry(slug, status="published")
        for number in range(3):
            await acme.update(entry_id, title=f"{slug} {number}")
    await server.caught_up()
    refused = await at(client, Clock.time, POSTS)
    assert refused.status == 400
    assert "use a smaller limit" in refused.body["error"]
    assert titles(await at(client, Clock.time, POSTS, limit="1")) == ["two 2"]


async def test_a_total_of_too_many_entries_is_null(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_versions, "COUNTED", 3)
    await acme.content_type()
    made = [await acme.entry(f"entry-{number}", status="published") for number in range(9)]
    then = tick()
    for entry_id in made:
        await acme.update(entry_id, title="Changed")
    await server.caught_up()
    page = await at(client, then, POSTS, limit="1")
    assert page.body["pagination"] == {"limit": 1, "offset": 0, "total": None}
    arguments = f'limit: 1, asOf: "{then.isoformat()}"'
    assert "errors" not in await gql(client, arguments)
    counted = await gql(client, arguments, "data { title } pagination { total }")
    assert "too many entries to count" in counted["errors"][0]["message"]


async def test_entries_below_many_that_had_just_been_deleted_are_listed(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are beyond the versions that the first query reads."""
    monkeypatch.setattr(past_versions, "FEW", 3)
    await acme.content_type()
    old = [await acme.entry(slug, status="published") for slug in ("one", "two")]
    deleted = [await acme.entry(f"draft-{number}") for number in range(3)]
    tick()
    for entry_id in deleted:
        await acme.delete(entry_id)
    then = tick()
    for entry_id in old:
        await acme.update(entry_id, title="Changed")
    await server.caught_up()
    page = await at(client, then, EVERYTHING, limit="1")
    assert titles(page) == ["Two"]
    assert page.body["pagination"] == {"limit": 1, "offset": 0, "total": 2}


async def test_filters_sort_and_cursors_of_the_past(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, stages=STAGES)
    ids = [
        await acme.entry(slug, title=title, status="published")
        for slug, title in (("a", "Ebb"), ("b", "Flow"), ("c", "Tide"), ("d", "ebb and flow"))
    ]
    then = tick()
    await acme.update(ids[0], title="Changed")
    await acme.delete(ids[3])
    await server.caught_up()

    async def titles_at(**parameters: str) -> list[str]:
        return titles(await at(client, then, POSTS, **parameters))

    assert await titles_at(**{"filter[title][contains]": "EBB"}) == ["ebb and flow", "Ebb"]
    assert await titles_at(**{"filter[title]": "Changed"}) == []
    assert await titles_at(**{"filter[title][in]": "Ebb,Tide", "sort": "title"}) == [
        "Ebb",
        "Tide",
    ]
    assert await titles_at(**{"filter[id]": ids[0]}) == ["Ebb"]
    assert await titles_at(**{"filter[id][nin]": ",".join(ids[1:])}) == ["Ebb"]
    assert await titles_at(**{"filter[stage]": "writing", "sort": "-slug"}) == [
        *("ebb and flow", "Tide", "Flow", "Ebb"),
    ]
    assert await titles_at(**{"filter[status]": "draft"}) == []
    first = await at(client, then, POSTS, cursor="first", limit="2", sort="-title")
    assert titles(first) == ["ebb and flow", "Tide"]
    following = first.body["pagination"]["next"]
    second = await at(client, then, POSTS, cursor=following, limit="2", sort="-title")
    assert titles(second) == ["Flow", "Ebb"], "the last page is full"
    assert second.body["pagination"] == {"limit": 2, "total": 4, "next": None}
    other = await at(client, Clock.time, POSTS, cursor=following, limit="2", sort="-title")
    assert other.status == 400, "a cursor is of one moment"
    assert (await at(client, then, POSTS, total="none")).body["pagination"]["total"] is None


async def test_a_refused_offset_proposes_a_cursor(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type()
    for n in range(30):
        await acme.entry(f"e{n}", status="published")
    then = tick()
    await server.caught_up()
    for module in (budget, finder):
        monkeypatch.setattr(module, "ROWS", 20)
    refused = await at(client, then, POSTS, offset="25")
    assert (refused.status, refused.body) == (400, {"error": past_lists.TOO_FAR})
    assert len((await at(client, then, POSTS, cursor="first")).data) == 10


async def test_a_list_whose_newest_entries_have_all_changed_since(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unchanged entries are read only down to the end of the page."""
    await acme.content_type()
    ids = [await acme.entry(f"e{n}", title=f"{n}", status="published") for n in range(60)]
    then = tick()
    for entry_id in ids[25:]:
        await acme.update(entry_id, title="Changed")
    await server.caught_up()
    for module in (budget, finder):
        monkeypatch.setattr(module, "ROWS", 20)
    cursor, found = "first", list[str]()
    while cursor:
        page = await at(client, then, POSTS, cursor=cursor, limit="7", total="none")
        found += titles(page)
        cursor = page.body["pagination"]["next"]
    assert found == [str(n) for n in reversed(range(60))]


async def test_fields_of_the_past_are_built_in(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, stages=STAGES)
    await acme.update(await acme.entry("one"), title="Two")
    then = tick()
    await acme.update(await acme.entry("three"), status="published")
    await acme.revise_type(BODY, LEAD, stages=STAGES)
    await server.caught_up()
    custom = await at(client, then, POSTS, **{"filter[fields.body]": "x"})
    assert custom.status == 400
    message = "'fields.body' in filter[fields.body] can be neither filtered nor sorted with asOf"
    assert message in custom.body["error"]
    stage = await at(client, then, POSTS, status="draft", sort="stage")
    assert (stage.status, "has changed since" in stage.body["error"]) == (400, True)


async def test_references_are_resolved_by_id_as_of_the_same_time(
    acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY)
    media = {"workspace": "acme", "media_id": "hero", "name": "hero.png", "content_type": "a/b"}
    await acme.execute(c.PutMedia, url="https://cdn/1", **media)
    one, two = await acme.entry("one"), await acme.entry("two")
    then = tick()
    await acme.execute(c.PutMedia, url="https://cdn/2", **media)
    await acme.execute(c.RemoveMedia, workspace="acme", media_id="hero")
    await acme.update(one, title="Changed")
    await acme.delete(two)
    three = await acme.entry("three")

    async def titles_at(time: datetime) -> set[str]:
        ids = [one, two, three, "nothing"]
        entries = await point_in_time.entries_of_ids(
            server.service, acme.scope, ids, ListBudget(), locale="en-US", at=time
        )
        return {one.row.title for one in entries.values()}

    assert (await titles_at(then), await titles_at(Clock.time)) == (
        {"One", "Two"},
        {"Changed", "Three"},
    )
    files = await media_at(server.repository, "acme", ["hero", "other"], then)
    assert {media_id: file.url for media_id, file in files.items()} == {"hero": "https://cdn/1"}
    assert await media_at(server.repository, "acme", ["hero"], Clock.time) == {}
    other = await server.workspace("other")
    assert await media_at(server.repository, "other", ["hero"], then) == {}
    assert not await point_in_time.entries_of_ids(
        server.service, other.scope, [one], ListBudget(), locale="en-US", at=then
    )
