"""Filtered lists while their entries and indexes change."""

from __future__ import annotations

import pytest

from tests.integration.api.graphql import run_query
from tests.integration.api.server import Server
from tests.integration.api.test_list_queries import LIST, POSTS, names, write_posts
from tests.integration.live_projector import connected
from tests.integration.projector.rebuilds import rebuild
from tests.integration.projector.sample_log import ContentBuilder, raws


@pytest.fixture(autouse=True)
async def _posts(server: Server) -> None:
    await write_posts(server)


async def test_a_cursor_survives_edits_of_its_entry_and_a_rebuild(server: Server) -> None:
    client = server.client()
    path = f"{POSTS}?sort=title&limit=5"
    whole = names(await client.get(f"{POSTS}?sort=title&limit=100"))
    first = await client.get(f"{path}&cursor=first")
    cursor = first.body["pagination"]["next"]
    builder = ContentBuilder(server.repository)
    await builder.update(first.data[-1]["id"], title="Zzz")
    await builder.delete(first.data[0]["id"])
    await server.caught_up()
    assert names(await client.get(f"{path}&cursor={cursor}")) == whole[5:10]
    assert (await rebuild(server.url, workers=1)).differences == []
    assert names(await client.get(f"{path}&cursor={cursor}&total=none")) == whole[5:10]


async def test_equal_queries_share_a_response_that_changes_with_the_entries(server: Server) -> None:
    client = server.client()
    one, other = "filter[fields.price]=1&sort=title", "sort=title&filter[fields.price][eq]=1"
    first = await client.get(f"{POSTS}?{one}")
    again = await client.get(f"{POSTS}?{other}")
    assert (again.text, again.headers["ETag"]) == (first.text, first.headers["ETag"])
    current = await client.get(f"{POSTS}?{one}", headers={"If-None-Match": first.headers["ETag"]})
    assert current.status == 304
    head = await client.ask("HEAD", f"{POSTS}?{one}")
    assert (head.status, head.headers["ETag"]) == (200, first.headers["ETag"])
    posted = await server.repository.recorder.head()
    await ContentBuilder(server.repository).update(first.data[0]["id"], fields=raws(price=2))
    token = server.service.positions.token("acme", posted + 1)
    changed = await client.get(f"{POSTS}?{one}", headers={"X-Content-Position": token})
    assert len(changed.data) == len(first.data) - 1


async def test_a_field_that_is_being_indexed_is_503(server: Server) -> None:
    [(type_id,)] = await type_ids(server)
    async with (
        connected(server.url, search_path="read_model") as connection,
        connected(server.url, search_path="read_model") as holding,
    ):
        # The projector finishes filling the index only after the queries.
        await holding.execute("BEGIN; SELECT FROM checkpoint FOR UPDATE")
        await connection.execute(
            "INSERT INTO indexing SELECT workspace, id, '{fields.price,q}', 1000000 "
            "FROM content_type WHERE id = $1 "
            "ON CONFLICT (workspace, content_type_id) DO UPDATE SET paths = '{fields.price,q}'",
            type_id,
        )
        for path, query, variables in (
            ("fields.price", "filter[fields.price]=1", {"filter": {"fields.price": 1}}),
            ("fields.price", "sort=-fields.price", {"sort": ["-fields.price"]}),
            ("q", "q=post", {"search": "post"}),
            ("q", "q=post&sort=title", {"search": "post", "sort": ["title"]}),
        ):
            answer = await server.client().get(f"{POSTS}?{query}")
            assert answer.status == 503, answer.text
            assert int(answer.headers["Retry-After"]) >= 1
            message = f"The index of '{path}' is being filled, please retry in a while"
            assert answer.body == {"error": message}
            [error] = (await run_query(server.client(), LIST, **variables)).body["errors"]
            assert (error["message"], error["extensions"]["status"]) == (message, 503)
        assert (await server.client().get(f"{POSTS}?sort=title")).status == 200


async def type_ids(server: Server) -> list[tuple[str]]:
    async with connected(server.url, search_path="read_model") as connection:
        rows = await connection.fetch(
            "SELECT id FROM content_type WHERE (workspace, slug) = ('acme', 'posts')"
        )
        return [tuple(row) for row in rows]
