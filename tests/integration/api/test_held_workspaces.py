"""An API on a read model with only some workspaces: the keys of the others are unknown to it."""

from __future__ import annotations

import pytest

from tests.integration.api.dashboard import signed_in
from tests.integration.api.server import Client, Server
from tests.integration.live_projector import connected, until

HOLD = "UPDATE read_model.checkpoint SET workspaces = $1"
REQUESTS = ("/v1/content", "/v1/content-types", "/v1/changes", "/v1/openapi.json", "/v1/media")
QUERY = {"query": "{ contentTypes { slug } }"}


@pytest.fixture
async def clients(server: Server) -> dict[str, Client]:
    for workspace in ("acme", "other"):
        builder = await server.workspace(
            workspace, ("content.view", "content.edit", "service.view")
        )
        await builder.content_type()
        await builder.entry("one", status="published")
    await server.caught_up()
    return {slug: server.client(f"secret-of-{slug}") for slug in ("acme", "other", "unknown")}


async def hold(server: Server, *workspaces: str) -> None:
    """Limit the read model to these workspaces, as a rebuild or a rollback does."""
    async with connected(server.url) as connection:
        await connection.execute(HOLD, list(workspaces) or None)

    async def known() -> bool:
        return server.service.checkpoint.workspaces == (workspaces or None)

    await until(known)


async def status(client: Client, path: str) -> int:
    return (await client.get(path)).status


async def test_keys_of_other_workspaces_are_refused_like_unknown_ones(
    server: Server, clients: dict[str, Client]
) -> None:
    await hold(server, "acme")
    for path in REQUESTS:
        refused, unknown = [await clients[one].get(path) for one in ("other", "unknown")]
        assert (refused.status, refused.text) == (401, unknown.text)
        assert await status(clients["acme"], path) == 200
    new = {"contentTypeSlug": "posts", "title": "Two"}
    written = [(await clients[one].post(new)).status for one in ("acme", "other")]
    assert written == [200, 401]
    queried = [(await clients[one].post(QUERY, "/graphql")).status for one in ("acme", "other")]
    assert queried == [200, 401]
    metrics = [await status(clients[one], "/metrics") for one in ("acme", "other")]
    assert metrics == [200, 401]


async def test_a_response_that_was_kept_before_is_not_sent_to_them(
    server: Server, clients: dict[str, Client]
) -> None:
    for _ in range(3):  # the second is cached, the third takes the shortest path
        assert await status(clients["other"], "/v1/content/posts") == 200
    await hold(server, "acme")
    assert await status(clients["other"], "/v1/content/posts") == 401
    await hold(server)
    assert await status(clients["other"], "/v1/content/posts") == 200


async def test_sessions_of_the_dashboard_end(server: Server, clients: dict[str, Client]) -> None:
    async with signed_in(server, "secret-of-other") as visitor:
        assert (await visitor.get("/dashboard/entries")).status == 200
        await hold(server, "acme")
        assert (await visitor.get("/dashboard/entries")).status == 303
        assert (await visitor.sign_in("secret-of-other")).status == 403
        assert (await visitor.sign_in("secret-of-acme")).status == 303


async def test_operators_see_which_read_model_it_is(server: Server) -> None:
    assert (await server.operator.get("/readyz")).body["readModel"] == "default"
    metrics = (await server.operator.get("/metrics")).text
    assert 'contentlog_read_model{name="default"} 1.0\n' in metrics
