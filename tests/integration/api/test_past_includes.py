"""``include`` with ``asOf``: entries and media files as of the same time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from api.rest import includes, point_in_time
from tests.integration.api.server import Client, Server
from tests.integration.api.shapes import entry, file, put_media, write_types
from tests.integration.api.test_point_in_time import at, clock, tick
from tests.integration.projector.sample_log import ContentBuilder, raws
from tests.store_clock import Clock
from write_side import commands as c
from write_side.domain.events import Translation

POSTS = "/v1/content/posts"
PATHS = "author.friend.photo,cover"
__all__ = ["clock"]


@pytest.fixture
async def library(clock: None, acme: ContentBuilder) -> ContentBuilder:
    await write_types(acme)
    await put_media(acme, "hero", "face")
    return acme


async def included(client: Client, time: datetime, path: str, include: str, **more: str) -> Any:
    answer = await at(client, time, path, include=include, **more)
    assert answer.status == 200, answer.text
    return answer.body["includes"]


async def test_includes_are_as_they_were_on_lists_and_the_single_entry(
    client: Client, library: ContentBuilder, server: Server
) -> None:
    bob = await entry(library, "bob", "authors", photo="face")
    ada = await entry(library, "ada", "authors", friend=bob)
    await entry(library, "one", author=ada, cover="hero")
    then = tick()
    await server.caught_up()
    paths = (POSTS, f"{POSTS}/one", "/v1/content", "/v1/content?type=posts")
    expected = {}
    for path in paths[:3]:
        answer = await client.get(f"{path}?include={PATHS}")
        expected[path] = answer.body["includes"]
        assert expected[path]["entries"].keys() >= {bob}
        assert (await at(client, then, path, include=PATHS)).text == answer.text
    await put_media(library, "face", url="https://example.com/new.png")
    await library.execute(c.RemoveMedia, workspace="acme", media_id="hero")
    await library.update(ada, title="Changed", fields=raws(friend=None))
    await library.delete(bob)
    await server.caught_up()
    for path, found in expected.items():
        assert await included(client, then, path, PATHS) == found
    assert expected[POSTS]["media"] == {"face": file("face"), "hero": file("hero")}
    now = await included(client, Clock.time, POSTS, PATHS)
    assert [one["title"] for one in now["entries"].values()] == ["Changed"]
    assert now["media"] == {}


async def test_includes_are_of_the_environment_of_the_page(
    client: Client, library: ContentBuilder, server: Server
) -> None:
    staging = await library.staging()
    await write_types(staging)
    ada = await entry(staging, "ada", "authors")
    await entry(staging, "one", author=ada)
    await server.caught_up()
    found = await included(client, tick(), POSTS, "author", environment="staging")
    assert found["entries"].keys() == {ada}


async def test_a_locale_and_select(client: Client, library: ContentBuilder, server: Server) -> None:
    french = {"fr-FR": Translation("Marées")}
    ada = await library.entry("ada", type_slug="authors", translations=french)
    await entry(library, "one", author=ada)
    then = tick()
    await library.translate(ada, "fr-FR", title="Changed")
    await server.caught_up()
    answer = await at(client, then, POSTS, include="author", select="title", locale="fr-FR")
    assert [one.keys() for one in answer.data] == [{"id", "title"}]
    shown = answer.body["includes"]["entries"][ada]
    assert (shown["title"], shown["locale"], shown["slug"]) == ("Marées", "fr-FR", "ada")


async def test_a_key_for_published_entries_includes_those_published_then(
    client: Client, library: ContentBuilder, server: Server
) -> None:
    await server.key("reader", "acme", ("content.published",))
    reader = server.client("reader")
    ada = await entry(library, "ada", "authors", "draft", photo="face")
    await entry(library, "one", author=ada)
    drafted = tick()
    await library.update(ada, status="published")
    published = tick()
    await library.update(ada, status="archived")
    await server.caught_up()
    for time, ids, files in ((drafted, [], []), (published, [ada], ["face"])):
        for path in (POSTS, f"{POSTS}/one"):
            found = await included(reader, time, path, "author.photo")
            assert ([*found["entries"]], [*found["media"]]) == (ids, files)
    assert [*(await included(client, drafted, POSTS, "author"))["entries"]] == [ada]


async def test_paths_are_checked_against_the_types_that_they_reach(
    client: Client, library: ContentBuilder, server: Server
) -> None:
    ada = await entry(library, "ada", "authors")
    await entry(library, "one", author=ada)
    then = tick()
    await server.caught_up()
    for path, message in (
        ("nope", "there is no field 'nope'; use one of author, cover, gallery, related, topics"),
        ("body", "'body' refers to nothing"),
        ("cover.author", "the media files of 'cover' refer to nothing"),
        ("faq.author", "references inside repeaters"),
        ("author.bio", "'bio' refers to nothing; use one of friend, photo"),
    ):
        for target in (POSTS, f"{POSTS}/one"):
            answer = await at(client, then, target, include=path)
            assert (answer.status, message in answer.body["error"]) == (400, True), answer.text
    empty: dict[str, Any] = {"entries": {}, "media": {}}
    assert await included(client, then, POSTS, "topics.nope") == empty
    assert await included(client, then, POSTS, "nope", status="archived") == empty


async def test_includes_of_the_past_are_bounded(
    client: Client, library: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [await entry(library, f"t{n}", "topics") for n in range(4)]
    await entry(library, "one", topics=ids)
    then = tick()
    await server.caught_up()
    monkeypatch.setattr(includes, "MOST", 3)
    answer = await at(client, then, POSTS, include="topics")
    assert (answer.status, "more than 3 entries" in answer.body["error"]) == (400, True)
    monkeypatch.undo()
    # Fewer events than the page and its references have together, more than either alone.
    monkeypatch.setattr(point_in_time, "EVENTS", 5)
    answer = await at(client, then, POSTS, include="topics")
    assert (answer.status, "include fewer paths" in answer.body["error"]) == (400, True)
    assert (await at(client, then, POSTS)).status == 200


async def test_a_file_of_another_workspace_with_the_same_id_is_not_included(
    client: Client, library: ContentBuilder, server: Server
) -> None:
    await entry(library, "one", cover="hero")
    then = tick()
    await library.execute(c.RemoveMedia, workspace="acme", media_id="hero")
    other = await server.workspace("other")
    await put_media(other, "hero", url="https://example.com/theirs.png")
    await server.caught_up()
    assert (await included(client, then, POSTS, "cover"))["media"] == {"hero": file("hero")}
    assert (await included(client, Clock.time, POSTS, "cover"))["media"] == {}
