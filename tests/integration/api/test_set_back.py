"""The read model was set back by a failover or a crash, and the process has not noticed it yet."""

from __future__ import annotations

import pytest

from read_side import checkpoint
from tests.integration.api.server import Server
from tests.integration.live_projector import connected

BACK = """
WITH gone AS (DELETE FROM read_model.entry WHERE slug = 'two')
UPDATE read_model.checkpoint SET position = position - 1"""


@pytest.fixture(autouse=True)
def unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the checkpoint once, at the start. After that, only notices change it."""
    monkeypatch.setattr(checkpoint, "POLL_WAITING", 3600.0)


@pytest.mark.parametrize("path", ["/v1/content/posts/two", "/v1/content/posts"])
async def test_a_position_that_was_passed_before_is_waited_for_again(
    server: Server, path: str
) -> None:
    builder = await server.workspace()
    await builder.content_type()
    await builder.entry("one", status="published")
    await server.caught_up()
    new = {"contentTypeSlug": "posts", "title": "Two", "slug": "two", "status": "published"}
    created = await server.client().post(new)
    token = {"X-Content-Position": created.headers["X-Content-Position"]}
    assert (await server.client().get(path, headers=token)).status == 200
    async with connected(server.url) as connection:
        await connection.execute(BACK)
    server.forget()
    assert (await server.client().get(path, headers=token)).status == 503
    # A client without a position gets the current state.
    assert (await server.client().get("/v1/content/posts/one")).status == 200
