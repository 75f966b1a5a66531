"""``include``: the entries and media files that the entries of a page refer to."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from api.http.large_bodies import BodyFile
from api.openapi.document import document
from api.rest import includes
from api.rest.includes import MOST
from tests.integration.api.graphql import counting
from tests.integration.api.large_responses import sent
from tests.integration.api.server import Client, Server, shared
from tests.integration.api.shapes import entry, file, put_media, write_types
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

READER = "secret-of-a-reader"
POSTS = "/v1/content/posts"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server(module_database_url: str) -> AsyncIterator[Server]:
    async with shared(module_database_url, response_file_bytes=100_000_000) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def acme(server: Server) -> ContentBuilder:
    builder = await server.workspace(staging=True)
    await server.key(READER, "acme", ("content.published",))
    await write_types(builder)
    await put_media(builder, "hero", "face")
    return builder


async def included(client: Client, path: str) -> dict[str, Any]:
    answer = await client.get(path)
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.body["includes"]
    assert list(found) == ["entries", "media"]
    return found


async def test_a_search_has_includes_and_a_position_while_words_are_missing(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    """The projector finds the words of large imports later, without moving the checkpoint."""
    ada = await entry(acme, "ada", "authors")
    await entry(acme, "one", author=ada)
    await entry(acme, "two", author=ada)
    await server.caught_up()
    path = f"{POSTS}?q=one&include=author"
    answer = await client.get(path)
    async with connected(server.url, search_path="read_model") as connection:
        await connection.execute(
            "UPDATE entry_search SET words = NULL FROM entry e "
            "WHERE e.position = entry_search.position AND e.slug = 'two'"
        )
    again = await client.get(f"{path}&total=")
    assert answer.body["includes"]["entries"].keys() == {ada}
    assert again.body == answer.body
    assert again.headers["X-Content-Position"] == answer.headers["X-Content-Position"]


async def test_references_and_media_are_included_once_along_the_paths(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    bob = await entry(acme, "bob", "authors", photo="face")
    ada = await entry(acme, "ada", "authors", friend=bob)
    sea = await entry(acme, "sea", "topics")
    tides = await entry(acme, "tides", "topics", part_of=sea)
    await entry(acme, "one", author=ada, topics=[tides, sea], cover="hero", body="x")
    await entry(acme, "two", author=ada, topics=[tides])
    await server.caught_up()
    path = f"{POSTS}?include=author.friend.photo,topics.part_of,cover"
    answer = await client.get(path)
    assert list(answer.body) == ["success", "data", "pagination", "includes"]
    plain = await client.get(POSTS)
    assert answer.text.startswith(plain.text[:-1])
    found = answer.body["includes"]
    assert found["entries"].keys() == {ada, bob, tides, sea}
    across = await client.get("/v1/content")
    shown = {one["id"]: one for one in across.data}
    assert found["entries"] == {name: shown[name] for name in found["entries"]}
    assert found["media"] == {"face": file("face"), "hero": file("hero")}
    assert (await included(client, f"{POSTS}/one?include=author"))["entries"].keys() == {ada}
    assert (await included(client, f"{POSTS}/two?include=cover")) == {"entries": {}, "media": {}}
    anywhere = await included(client, "/v1/content?include=friend, cover,author.photo ")
    assert anywhere["entries"].keys() == {ada, bob}
    assert anywhere["media"].keys() == {"hero"}


async def test_a_cycle_is_followed_to_its_last_level(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also through an entry that another path has already included."""
    ids = ["018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"]
    for slug, one in zip("ab", ids, strict=True):
        await acme.entry(slug, type_slug="authors", entry_id=one)
    c = await entry(acme, "c", "authors")
    await acme.update(ids[0], fields=raws(friend=ids[1]))
    await acme.update(ids[1], fields=raws(friend=c))
    await entry(acme, "post", related=ids)
    await server.caught_up()
    found = await included(client, f"{POSTS}?include=related")
    assert found["entries"].keys() == set(ids)
    # b is already included on the first level, but its friend is needed from the second one.
    found = await included(client, f"{POSTS}?include=related.friend.friend")
    assert found["entries"].keys() == {*ids, c}
    await acme.update(c, fields=raws(friend=ids[0]))
    await server.caught_up()
    with counting(monkeypatch) as statements:
        found = await included(client, f"{POSTS}?include=related.friend.friend")
    assert found["entries"].keys() == {*ids, c}
    assert len(statements) == 4, "what is known is not read again"
    # b is on the first level of one path, and leads further from the second level of another.
    await entry(acme, "other", author=ids[0], related=[ids[1]])
    await server.caught_up()
    found = await included(client, f"{POSTS}/other?include=related,author.friend.friend")
    assert found["entries"].keys() == {*ids, c}


async def test_an_included_entry_has_the_locale_of_the_request(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    french = {"fr-FR": Translation("Marées", raws(bio="salé"))}
    ada = await acme.entry("ada", type_slug="authors", translations=french)
    await entry(acme, "one", author=ada)
    await server.caught_up()
    found = await included(client, f"{POSTS}/one?include=author&locale=fr-FR")
    shown = found["entries"][ada]
    assert (shown["title"], shown["locale"], shown["fields"]["bio"]) == ("Marées", "fr-FR", "salé")


async def test_hidden_and_deleted_entries_are_absent_and_not_followed(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    bob = await entry(acme, "bob", "authors")
    ada = await entry(acme, "ada", "authors", "draft", friend=bob, photo="face")
    gone = await entry(acme, "gone", "topics")
    await entry(acme, "one", author=ada, topics=[gone], cover="hero")
    await acme.delete(gone)
    await server.caught_up()
    path = f"{POSTS}?include=author.friend,author.photo,topics,cover"
    reader = server.client(READER)
    for _ in range(2):
        assert (await included(client, path))["entries"].keys() == {ada, bob}
        assert (await included(reader, path)) == {"entries": {}, "media": {"hero": file("hero")}}
    await acme.update(ada, status="published")
    await server.caught_up()
    assert (await included(reader, path))["entries"].keys() == {ada, bob}
    await acme.update(ada, status="archived")
    await server.caught_up()
    assert (await included(reader, path))["entries"] == {}


async def test_select_shows_less_of_the_page_and_all_of_what_is_included(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    ada = await entry(acme, "ada", "authors", bio="x")
    await entry(acme, "one", author=ada)
    await server.caught_up()
    answer = await client.get(f"{POSTS}/one?select=title&include=author")
    assert list(answer.data) == ["id", "title"]
    assert answer.body["includes"]["entries"][ada]["fields"]["bio"] == "x"


@pytest.mark.parametrize("over", [0, 1])
async def test_there_are_at_most_500_entries_and_500_media_files(
    over: int, server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(includes, "MOST", 6)
    ids = [await entry(acme, f"t{n}", "topics") for n in range(6 + over)]
    await put_media(acme, *(f"m{n}" for n in range(6 + over)))
    await entry(acme, "one", related=ids[:4])
    await entry(acme, "two", related=ids[3:], gallery=[f"m{n}" for n in range(6 + over)])
    await server.caught_up()
    for path, what in (("related", "entries"), ("gallery", "media files")):
        answer = await client.get(f"{POSTS}?include={path}")
        assert answer.status == (400 if over else 200)
        if over:
            message = f"refers to more than 6 {what}: ask for a smaller page or include fewer paths"
            assert message in answer.body["error"]
        else:
            assert sum(map(len, answer.body["includes"].values())) == 6


async def test_levels_share_the_limit(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(includes, "MOST", 3)
    top = [await entry(acme, f"top{n}", "topics") for n in range(2)]
    low = [await entry(acme, f"low{n}", "topics", part_of=top[n]) for n in range(2)]
    await entry(acme, "one", topics=low)
    await server.caught_up()
    assert (await client.get(f"{POSTS}?include=topics")).status == 200
    assert (await client.get(f"{POSTS}?include=topics.part_of")).status == 400


async def test_a_level_is_one_statement_however_many_entries_it_has(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for number in (2, 40):
        ids = [await entry(acme, f"a{number}-{n}", "authors", photo="face") for n in range(number)]
        last = [
            await entry(acme, f"b{number}-{n}", "authors", friend=one) for n, one in enumerate(ids)
        ]
        for n, one in enumerate(last):
            await entry(acme, f"p{number}-{n}", author=one, cover="hero")
        await server.caught_up()
        path = f"{POSTS}?limit={number}&include=author.friend.photo,cover"
        with counting(monkeypatch) as statements:
            found = await included(client, path)
        assert len(found["entries"]) == 2 * number
        counts.append(len(statements))
    # Statements: fields, page, two levels, media.
    assert counts == [5, 5]


async def test_without_the_parameters_a_list_is_one_statement(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await entry(acme, "one")
    await server.caught_up()
    for path in (POSTS, f"{POSTS}/one", "/v1/content"):
        with counting(monkeypatch) as statements:
            assert (await client.get(path)).status == 200
        assert len(statements) == 1
        with counting(monkeypatch) as statements:
            assert (await client.get(f"{path}?select=title")).status == 200
        assert len(statements) == 1, "no field has to be looked up"


@pytest.mark.parametrize("path", [POSTS, f"{POSTS}/p2", "/v1/content?limit=3"])
async def test_large_entries_are_included_from_a_file(
    path: str, server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large entries on the page, among the included ones, or both: as if from memory."""
    authors = [
        await entry(acme, f"a{n}", "authors", bio="é" * size, photo="face")
        for n, size in enumerate((10, 40_000, 10, 700_000, 700_000, 20_000))
    ]
    friend = await entry(acme, "friend", "authors", friend=authors[3])
    await entry(acme, "p0", related=[*authors, friend])
    await entry(acme, "p1", author=authors[0], body="y" * 70_000)
    await entry(acme, "p2", author=friend)
    await server.caught_up()
    path += f"{'&' if '?' in path else '?'}include=author.friend,related.photo"
    ended: list[bytes] = []
    end = BodyFile.end

    def counted(file: BodyFile, piece: bytes) -> None:
        ended.append(piece)
        end(file, piece)

    monkeypatch.setattr(BodyFile, "end", counted)
    large = await client.get(path)
    assert len(ended) == 1
    with monkeypatch.context() as patch:
        patch.setattr("read_side.paging.INLINE", 10**8)
        patch.setattr(includes, "IN_MEMORY", 10**8)
        whole = await client.get(path)
    assert large.status == 200
    assert len(ended) == 2, "the second is held in a file because it is large"
    assert large.body == whole.body
    assert len(large.body["includes"]["entries"]) > 1
    head = await client.ask("HEAD", path)
    assert (head.status, head.text) == (200, "")
    tag = {"If-None-Match": large.headers["ETag"]}
    assert (await client.get(path, headers=tag)).status == 304
    assert "X-Content-Position" in large.headers
    await sent(server)


async def test_more_bytes_than_the_limit_are_refused_before_they_are_read(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(includes, "MOST_BYTES", 150_000)
    one, two = [await entry(acme, f"a{n}", "authors", bio="x" * 80_000) for n in range(2)]
    await entry(acme, "p1", author=one, related=[two])
    await server.caught_up()
    assert (await client.get(f"{POSTS}?include=author")).status == 200
    answer = await client.get(f"{POSTS}?include=author,related")
    assert answer.status == 400
    assert "bytes" in answer.body["error"]
    await sent(server)


async def test_a_refused_large_page_costs_no_connection(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(includes, "MOST", 2)
    topics = [await entry(acme, f"t{n}", "topics") for n in range(3)]
    await entry(acme, "large", body="x" * 50_000, topics=topics)
    await server.caught_up()
    terminated: list[Any] = []
    terminate = asyncpg.Connection.terminate

    def counted(connection: Any) -> None:
        terminated.append(connection)
        terminate(connection)

    monkeypatch.setattr(asyncpg.Connection, "terminate", counted)
    assert (await client.get(f"{POSTS}?include=topics")).status == 400
    assert not terminated
    await sent(server)


async def test_a_response_with_includes_is_compressed_tagged_and_positioned_as_others_are(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    ada = await entry(acme, "ada", "authors", bio="long " * 400)
    await entry(acme, "one", author=ada)
    await server.caught_up()
    path = f"{POSTS}?include=author"
    plain = await client.get(path, headers={"Accept-Encoding": "identity"})
    headers = {"Authorization": f"Bearer {server.secret()}", "Accept-Encoding": "gzip"}
    async with server.session.get(path, headers=headers, auto_decompress=False) as response:
        packed = gzip.decompress(await response.read())
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.headers["ETag"] == plain.headers["ETag"]
    assert json.loads(packed) == plain.body
    assert "X-Content-Position" in plain.headers
    tag = {"If-None-Match": plain.headers["ETag"]}
    assert (await client.get(path, headers=tag)).status == 304
    head = await client.ask("HEAD", path)
    assert (head.status, head.text, head.headers["ETag"]) == (200, "", plain.headers["ETag"])


async def test_the_limit_is_the_documented_one() -> None:
    assert f"up to {MOST} entries and as many media files" in str(document())
