"""The media library over REST and GraphQL: its requests are treated like content requests."""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.integration.api.graphql import data
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = [
    {
        "id": name,
        "url": f"https://cdn.example.com/{name}.png",
        "name": f"{name}.png",
        "contentType": "image/png",
    }
    for name in ("a-chart", "hero", "map")
]
QUERY = "query ($id: ID!) { media(id: $id) { id url name contentType } }"


@pytest_asyncio.fixture(loop_scope="module")
async def library(server: Server, acme: ContentBuilder) -> Client:
    globex = await server.workspace("globex")
    for builder, files in ((acme, FILES), (globex, [{**FILES[0], "id": "theirs"}])):
        for file in reversed(files):
            await builder.execute(
                c.PutMedia,
                workspace=builder.scope.workspace,
                media_id=file["id"],
                url=file["url"],
                name=file["name"],
                content_type=file["contentType"],
            )
    await server.key("may only write", "acme", ("content.edit",))
    await server.key("published", "acme", ("content.published",))
    await server.caught_up()
    return server.client()


async def test_pages_of_the_library_are_by_id_with_the_true_total(library: Client) -> None:
    pages = {"": FILES, "?limit=2": FILES[:2], "?limit=2&offset=2": FILES[2:], "?offset=9": []}
    for query, files in pages.items():
        answer = await library.get(f"/v1/media{query}")
        assert answer.status == 200
        assert (answer.body["success"], answer.body["data"]) == (True, files)
        assert answer.body["pagination"]["total"] == 3
    assert (await library.get("/v1/media")).body["pagination"]["limit"] == 50


async def test_an_empty_library_is_a_page(server: Server) -> None:
    await server.workspace("initech")
    await server.caught_up()
    answer = await server.client("secret-of-initech").get("/v1/media?limit=500")
    assert answer.body["data"] == []
    assert answer.body["pagination"] == {"limit": 100, "offset": 0, "total": 0}


async def test_a_file_is_found_by_its_id_only_in_its_workspace(library: Client) -> None:
    assert (await library.get("/v1/media/hero")).body == {"success": True, "data": FILES[1]}
    assert (await library.get("/v1/media/a-chart")).body["data"] == FILES[0]
    for unknown in ("nothing", "theirs", "%00", "%ED%A0%80"):
        answer = await library.get(f"/v1/media/{unknown}")
        assert (answer.status, answer.body) == (404, {"error": "Media file not found"})


async def test_a_read_of_media_is_checked_like_content(server: Server, library: Client) -> None:
    for path in ("/v1/media", "/v1/media/hero"):
        assert (await server.client(None).get(path)).status == 401
        assert (await server.client("may only write").get(path)).status == 403
        assert (await server.client("published").get(path)).status == 200
        assert (await library.get(f"{path}?environment=x&locale=x")).status == 400
        assert (await library.get(f"{path}?environment=staging")).status in (402, 404)
        assert (await library.get(f"{path}?locale=x")).status == 400
        answer = await library.get(path)
        again = await library.get(path, headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status, again.text) == (304, "")
        left = [int(one.headers["X-RateLimit-Remaining"]) for one in (answer, again)]
        assert left[0] - left[1] == 1 or left[1] > left[0], "or a new window has begun"


async def test_any_origin_may_read_and_revalidate(server: Server, library: Client) -> None:
    for path in ("/v1/media", "/v1/media/hero", "/v1/media/nothing"):
        answer = await library.get(path)
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        preflight = await server.client(None).ask("OPTIONS", path)
        assert preflight.status == 204
        allowed = preflight.headers["Access-Control-Allow-Headers"].split(", ")
        assert {"Authorization", "If-None-Match", "Last-Event-ID"} <= set(allowed)
    specified = await server.client(None).ask("OPTIONS", "/v1/content/posts")
    assert specified.headers["Access-Control-Allow-Headers"] == (
        "Authorization, X-API-Key, X-Environment, Content-Type"
    )


async def test_graphql_finds_a_file_by_its_id(library: Client) -> None:
    assert (await data(library, QUERY, id="hero"))["media"] == FILES[1]
    for unknown in ("nothing", "theirs"):
        assert (await data(library, QUERY, id=unknown))["media"] is None
