"""The languages and locales of an environment are read like other content."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/v1/locales"
FRENCH = {"fr-FR": Translation("Titre")}


@pytest_asyncio.fixture(loop_scope="module")
async def site(server: Server, acme: ContentBuilder) -> Client:
    await acme.content_type()
    await acme.entry("draft", translations=FRENCH)
    await acme.entry("shown", status="published", translations=FRENCH)
    await acme.entry("german", language="de-DE")
    globex = await server.workspace("globex")
    await globex.content_type()
    await globex.entry("theirs", language="it-IT", translations=FRENCH)
    await server.key("may only write", "acme", ("content.edit",))
    await server.key("published", "acme", ("content.published",))
    await server.caught_up()
    return server.client()


async def numbers(client: Client) -> tuple[dict[str, int], dict[str, int]]:
    found: dict[str, Any] = (await client.get(PATH)).data
    return (
        {one["code"]: one["entries"] for one in found["languages"]},
        {one["code"]: one["translations"] for one in found["locales"]},
    )


async def test_numbers_count_what_the_key_may_read(server: Server, site: Client) -> None:
    assert await numbers(site) == ({"de-DE": 1, "en-US": 2}, {"fr-FR": 2})
    assert await numbers(server.client("published")) == ({"en-US": 1}, {"fr-FR": 1})


async def test_numbers_follow_every_change(
    server: Server, acme: ContentBuilder, site: Client
) -> None:
    published = server.client("published")
    entry_id = await acme.entry("new", translations=FRENCH)
    for change, everybody, public in (
        ({}, 3, 1),
        ({"status": "published"}, 3, 2),
        ({"status": "archived"}, 3, 1),
        ({"translations": {"fr-FR": Translation("")}}, 2, 1),
    ):
        if change:
            await acme.update(entry_id, **change)
        await server.caught_up()
        assert (await numbers(site))[1] == {"fr-FR": everybody}
        assert (await numbers(published))[1] == {"fr-FR": public}


async def test_an_empty_environment_has_no_locales(server: Server) -> None:
    initech = await server.workspace("initech", staging=True)
    await initech.execute(c.AddEnvironment, scope=initech.scope)
    await server.caught_up()
    answer = await server.client("secret-of-initech").get(PATH)
    assert answer.body == {"success": True, "data": {"languages": [], "locales": []}}


async def test_a_read_of_locales_is_checked_like_content(server: Server, site: Client) -> None:
    assert (await server.client(None).get(PATH)).status == 401
    assert (await server.client("may only write").get(PATH)).status == 403
    assert (await site.get(f"{PATH}?environment=x")).status == 400
    assert (await site.get(f"{PATH}?locale=x")).status == 400
    answer = await site.get(PATH)
    again = await site.get(PATH, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status, again.text) == (304, "")
    left = [int(one.headers["X-RateLimit-Remaining"]) for one in (answer, again)]
    assert left[0] - left[1] == 1 or left[1] > left[0], "or a new window has begun"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    preflight = await server.client(None).ask("OPTIONS", PATH)
    assert "If-None-Match" in preflight.headers["Access-Control-Allow-Headers"]
