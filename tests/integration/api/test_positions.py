"""``X-Content-Position``: clients read their own writes, also from other processes and later."""

from __future__ import annotations

import asyncio

from tests.integration.api.server import Client, Server, serving
from tests.integration.api.test_refusals import refused
from tests.integration.live_projector import connected, projecting
from write_side.store.migrations import migrate

POST = {"contentTypeSlug": "posts", "title": "A"}
GETS = ["/v1/content", "/v1/content/posts", "/v1/content/posts/a", "/v1/content-types"]
KEY = "SELECT key FROM write_side.token_key"


async def written(client: Client, title: str = "A") -> dict[str, str]:
    answer = await client.post({**POST, "title": title})
    assert answer.status == 200
    return {"X-Content-Position": answer.headers["X-Content-Position"]}


async def test_a_read_that_names_it_waits_until_it_can_be_read(
    behind: Server, database_url: str
) -> None:
    position = await written(behind.client())
    async with serving(
        database_url, behind.repository, projector=False, read_your_writes=10
    ) as patient:
        reads = [
            asyncio.create_task(patient.client().ask(method, path, headers=position))
            for path in GETS
            for method in ("GET", "HEAD")
        ]
        await asyncio.sleep(0.1)
        assert not any(read.done() for read in reads)
        async with projecting(database_url):
            assert {(await read).status for read in reads} == {200}
            assert (await patient.client().get(GETS[2], headers=position)).data["slug"] == "a"


async def test_after_the_time_limit_a_read_is_503_with_retry_after(behind: Server) -> None:
    position = await written(behind.client())
    for path in GETS:
        answer = await behind.client().get(path, headers=position)
        refused(answer, 503, "The position or time that the request names cannot be read yet")
        assert answer.headers["Retry-After"] == "1"
    assert behind.service.checkpoint._waiting == {}


async def test_an_invalid_position_token_is_refused(behind: Server) -> None:
    client = behind.client()
    await (await behind.workspace("globex")).content_type()
    theirs = await written(behind.client("secret-of-globex"))
    head = await behind.repository.recorder.head()
    beyond = {"X-Content-Position": behind.service.positions.token("acme", head + 1)}
    for token in (*theirs.values(), "x", "ä" * 32, "A" * 36, "A" * 400):
        headers = {"X-Content-Position": token}
        refused(await client.get("/v1/content", headers=headers), 400, "X-Content-Position")
    refused(await client.get("/v1/content", headers=beyond), 400, "beyond the log")


async def test_an_empty_one_is_an_absent_one_and_a_post_does_not_wait(behind: Server) -> None:
    client = behind.client()
    assert (await client.get("/v1/content", headers={"X-Content-Position": ""})).status == 200
    answer = await client.post(POST, headers={"X-Content-Position": "nonsense"})
    assert answer.status == 200


async def test_a_position_is_checked_after_the_key_and_the_locale(behind: Server) -> None:
    bad = {"X-Content-Position": "x"}
    refused(await behind.client(None).get("/v1/content", headers=bad), 401)
    refused(await behind.client().get("/v1/content?locale=xx", headers=bad), 400, "locale")
    refused(await behind.client().get("/v1/content/none", headers=bad), 400, "Position")


async def test_a_replayed_answer_names_the_same_position(behind: Server) -> None:
    first, again = [
        await behind.client().post(POST, headers={"Idempotency-Key": "once"}) for _ in range(2)
    ]
    assert again.headers["X-Content-Position"] == first.headers["X-Content-Position"]


async def test_a_new_event_store_has_its_own_token_key(
    empty_database_url: str, database_url: str
) -> None:
    async with connected(empty_database_url) as empty, connected(database_url) as other:
        await migrate(empty)
        one, two = await empty.fetchval(KEY), await other.fetchval(KEY)
    assert len(one) == len(two) == 32
    assert one != two
