"""Every response to a read has ``X-Content-Position``, with and without ``asOf``, even if nothing
is found."""

from __future__ import annotations

from urllib.parse import quote

from api.rest.tokens import POSITION
from tests.integration.api.server import Answer, Client, Server
from tests.integration.api.test_past_references import AUTHOR
from tests.integration.api.test_point_in_time import clock, tick
from tests.integration.projector.sample_log import ContentBuilder
from tests.store_clock import Clock
from write_side import commands as c

__all__ = ["clock"]
READS = [
    *("/v1/content", "/v1/content?sort=-id", "/v1/content?q=a", "/v1/content?cursor=first"),
    *("/v1/content?type=posts", "/v1/content?select=title&include=author"),
    *("/v1/content/posts", "/v1/content/posts?status=draft&filter[title]=A", "/v1/content/posts/a"),
    *("/v1/content/posts?select=title", "/v1/content/posts/a?include=author"),
    *("/v1/content-types", "/v1/content-types/posts"),
    "/v1/changes",
]
"""Every path that reads entries, content types or changes, in each way of reading them."""
WITHOUT = ("/v1/media", "/v1/media/hero", "/v1/locales", "/v1/content-types/posts/schema.json")
OF_THE_PAST = [path for path in READS if path.startswith("/v1/content") and "-types" not in path]


async def test_every_read_names_what_it_includes(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(AUTHOR)
    file = {
        "media_id": "hero",
        "url": "https://a.example/b",
        "name": "b",
        "content_type": "image/png",
    }
    await acme.execute(c.PutMedia, workspace="acme", **file)
    await acme.entry("a", title="A")
    await server.caught_up()
    now = await server.repository.recorder.head()
    for path in READS:
        answer = await client.get(path)
        assert (answer.status, position(server, answer)) == (200, now), path
        again = await client.get(path)
        assert again.headers[POSITION] == answer.headers[POSITION], path
        repeated = await client.get(path, headers={POSITION: answer.headers[POSITION]})
        assert (repeated.status, repeated.text) == (200, answer.text)
    for path in WITHOUT:
        answer = await client.get(path)
        assert (answer.status, POSITION in answer.headers) == (200, False), path


async def test_a_read_of_the_past_names_the_last_event_until_then(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(AUTHOR)
    entry_id = await acme.entry("a", title="A")
    then, past = Clock.time, await server.repository.recorder.head()
    tick()
    await acme.update(entry_id, title="B")
    await server.caught_up()
    now = (await client.get("/v1/content")).headers[POSITION]
    for path in OF_THE_PAST:
        if "q=" in path:  # search reads only the present
            continue
        at = f"{path}{'&' if '?' in path else '?'}asOf={quote(then.isoformat())}"
        answer = await client.get(at)
        assert (answer.status, position(server, answer)) == (200, past), path
        newer = await client.get(at, headers={POSITION: now})
        assert newer.headers[POSITION] == now, "the later one is the client's own"


async def test_reads_that_find_nothing_have_one_too(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await server.caught_up()
    now = await server.repository.recorder.head()
    for path in ("/v1/content", "/v1/content?sort=id", "/v1/content-types", "/v1/changes"):
        answer = await client.get(path)
        assert (answer.status, position(server, answer)) == (200, now), path


def position(server: Server, answer: Answer) -> int | None:
    return server.service.positions.position("acme", answer.headers[POSITION])
