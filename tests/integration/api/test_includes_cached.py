"""Cached responses with ``include`` are reused until something in them changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from tests.integration.api.server import Server, serving
from tests.integration.api.shapes import TYPES, entry, file, put_media, write_types
from tests.integration.api.test_response_cache import agreed, hits
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field

INCLUDED = "include=author.friend.photo,cover"
PATHS = (
    f"/v1/content/posts?{INCLUDED}",
    f"/v1/content/posts/one?{INCLUDED}",
    f"/v1/content?type=posts&{INCLUDED}",
)
FRIEND, AUTHOR = "018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"
MOVED = "https://example.com/y.png"


@pytest.fixture
async def acme(server: Server) -> ContentBuilder:
    builder = await server.workspace(staging=True)
    await write_types(builder)
    await put_media(builder, "hero", "face")
    for slug, one, fields in (
        ("friend", FRIEND, raws(photo="face", bio="b")),
        ("author", AUTHOR, raws(friend=FRIEND)),
    ):
        await builder.entry(
            slug, type_slug="authors", entry_id=one, status="published", fields=fields
        )
    await entry(builder, "one", author=AUTHOR, cover="hero")
    await server.caught_up()
    await agreed(server)
    return builder


async def revise(builder: ContentBuilder, slug: str, *fields: Field) -> None:
    await builder.revise_type(*fields, slug=slug)


async def remove_media(builder: ContentBuilder) -> None:
    # Entries that refer to it keep its id.
    await builder.execute(c.RemoveMedia, workspace=builder.scope.workspace, media_id="face")


Change = Callable[[ContentBuilder], Awaitable[None]]
CHANGES: dict[str, tuple[Change, Callable[[Any], bool]]] = {
    "an included entry is updated": (
        lambda builder: builder.update(FRIEND, fields=raws(bio="new")),
        lambda found: found["entries"][FRIEND]["fields"]["bio"] == "new",
    ),
    "a file changes": (
        lambda builder: put_media(builder, "face", url=MOVED),
        lambda found: found["media"]["face"] == file("face", MOVED),
    ),
    "a file is removed": (remove_media, lambda found: "face" not in found["media"]),
    "the type of an included entry changes": (
        lambda builder: revise(builder, "authors", *TYPES["authors"], Field("n", "N", "number")),
        lambda found: "n" in found["entries"][FRIEND]["fields"],
    ),
    "an included entry refers to another": (
        lambda builder: builder.update(AUTHOR, fields=raws(friend=None)),
        lambda found: FRIEND not in found["entries"],
    ),
    "an included entry is deleted": (
        lambda builder: builder.delete(AUTHOR),
        lambda found: AUTHOR not in found["entries"],
    ),
}
"""One after the other: what to change, and whether a response shows it."""


async def test_a_change_shows_at_once_in_every_process(
    server: Server, acme: ContentBuilder
) -> None:
    async with serving(server.url, server.repository, projector=False) as other:
        await agreed(server, other)
        for name, (change, is_shown) in CHANGES.items():
            for one, path in product((server, other), PATHS):
                await one.client().get(path)
                before = hits()
                answer = await one.client().get(path)
                assert answer.status == 200
                assert not is_shown(answer.body["includes"]), name
                assert hits() == before + 1, "it is cached"

            async def shows(
                one: Server, path: str, is_shown: Callable[[Any], bool] = is_shown
            ) -> bool:
                return is_shown((await one.client().get(path)).body["includes"])

            await change(acme)
            await until(partial(shows, server, PATHS[0]))
            # One response has shown the new state, so no other must show the old one.
            for path in PATHS:
                assert await shows(other, path), name
                assert await shows(server, path), name


async def test_media_seen_over_its_own_path_are_not_older_elsewhere(
    server: Server, acme: ContentBuilder
) -> None:
    async with serving(server.url, server.repository, projector=False) as other:
        await agreed(server, other)
        for number in range(5):
            url = f"https://example.com/{number}.png"
            for one in (server, other):
                await one.client().get(PATHS[0])
            await put_media(acme, "hero", url=url)
            await server.caught_up()
            for path in ("/v1/media/hero", "/v1/media"):
                await server.client().get(path)
            found = await other.client().get(PATHS[0])
            assert found.body["includes"]["media"]["hero"]["url"] == url


async def test_texts_that_mean_the_same_share_a_response(
    server: Server, acme: ContentBuilder
) -> None:
    client = server.client()
    same = (
        "select=title,fields.price&include=author,cover",
        "include=cover,author&select=fields.price,title",
        "select=fields.price,id,title,title&include=cover,author,cover",
    )
    before = hits()
    bodies = {(await client.get(f"/v1/content/posts?{query}")).text for query in same}
    assert len(bodies) == 1
    assert hits() == before + 2
    deeper = [
        (await client.get(f"/v1/content/posts?include={paths}")).text
        for paths in ("author.friend", "author,author.friend")
    ]
    assert deeper[0] == deeper[1]
    assert hits() == before + 3


async def test_different_queries_are_cached_separately(
    server: Server, acme: ContentBuilder
) -> None:
    client = server.client()
    queries = ("", "select=id", "select=title", "include=author", "select=title&include=author")
    for _ in range(2):
        found = [(await client.get(f"/v1/content/posts?{query}")).text for query in queries]
        assert len(set(found)) == len(queries)


async def test_other_writes_do_not_disturb_it(server: Server, acme: ContentBuilder) -> None:
    client = server.client()
    await client.get(PATHS[1])
    await entry(acme, "unrelated")
    await server.caught_up()
    before = hits()
    await client.get(PATHS[1])
    assert hits() == before + 1


async def test_where_an_id_is_missing_any_new_entry_counts(
    server: Server, acme: ContentBuilder
) -> None:
    """Any new entry may be the missing one while the projector is halfway through an import."""
    client = server.client()
    await acme.delete(FRIEND)
    await server.caught_up()
    await client.get(PATHS[1])
    before = hits()
    await client.get(PATHS[1])
    assert hits() == before + 1
    await entry(acme, "unrelated")
    await server.caught_up()
    await client.get(PATHS[1])
    assert hits() == before + 1
