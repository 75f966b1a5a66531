"""``Idempotency-Key``: a POST is executed once, however often it is sent."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
import pytest_asyncio
from msgspec import json

from tests.integration.api.server import Client, Server, serving
from tests.integration.api.test_refusals import refused
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.domain.events import Plan

pytestmark = pytest.mark.asyncio(loop_scope="module")

POST = {"contentTypeSlug": "posts", "title": "A", "fields": {"body": "b"}}
ONCE = {"Idempotency-Key": "once"}
LATER = "UPDATE write_side.command SET at = at - $1::text::interval WHERE key LIKE 'http/%'"


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def posts(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    return acme


async def pass_by(server: Server, time: str) -> None:
    async with connected(server.url) as connection:
        await connection.execute(LATER, time)


async def head(server: Server) -> int:
    return await server.repository.recorder.head()


class TestReplays:
    async def test_the_same_body_has_the_same_response_byte_for_byte(
        self, server: Server, client: Client
    ) -> None:
        first = await client.post(POST, headers=ONCE)
        before = await head(server)
        again = await client.post(POST, headers=ONCE)
        assert first.status == again.status == 200
        assert again.text == first.text
        assert await head(server) == before

    async def test_a_replay_is_independent_of_later_changes(
        self, client: Client, posts: ContentBuilder
    ) -> None:
        first = await client.post(POST, headers=ONCE)
        await posts.delete(first.data["id"])
        await posts.execute(c.RemoveContentType, scope=posts.scope, slug="posts")
        again = await client.post(POST, headers=ONCE)
        assert again.text == first.text

    async def test_a_replay_is_independent_of_limits_reached_later(
        self, client: Client, posts: ContentBuilder
    ) -> None:
        first = await client.post(POST, headers=ONCE)
        await posts.execute(
            c.ChangePlan, workspace=posts.scope.workspace, plan=Plan(entries=1, staging=True)
        )
        refused(await client.post({**POST, "title": "B"}), 402)
        assert (await client.post(POST, headers=ONCE)).text == first.text

    async def test_another_process_replays_it_too(self, server: Server, client: Client) -> None:
        first = await client.post(POST, headers=ONCE)
        async with serving(server.url, server.repository, projector=False) as other:
            assert (
                await Client(other.session, server.secret()).post(POST, headers=ONCE)
            ).text == first.text

    async def test_another_body_is_refused(self, server: Server, client: Client) -> None:
        await client.post(POST, headers=ONCE)
        before = await head(server)
        for other in (
            {**POST, "title": "B"},
            {**POST, "contentTypeSlug": "none"},
            json.encode(POST) + b" ",
        ):
            refused(await client.post(other, headers=ONCE), 422)
        assert await head(server) == before


class TestWhatAKeyHoldsFor:
    async def test_an_idempotency_key_holds_for_one_api_key_and_one_environment(
        self, server: Server, client: Client, posts: ContentBuilder
    ) -> None:
        await server.key("another", "acme")
        staging = await posts.staging()
        await staging.content_type()
        first = await client.post(POST, headers=ONCE)
        refused(await server.client("another").post(POST, headers=ONCE), 409, "'a' already")
        answer = await client.post(POST, "/v1/content?environment=staging", headers=ONCE)
        assert answer.data["id"] != first.data["id"]

    async def test_a_refusal_is_not_remembered(self, client: Client, posts: ContentBuilder) -> None:
        await posts.execute(
            c.ChangePlan, workspace=posts.scope.workspace, plan=Plan(entries=0, staging=True)
        )
        refused(await client.post(POST, headers=ONCE), 402)
        await posts.change_plan(staging=True)
        refused(await client.post({**POST, "fields": {"body": 7}}, headers=ONCE), 400)
        assert (await client.post({**POST, "title": "B"}, headers=ONCE)).status == 200

    @pytest.mark.parametrize("key", ["", "x" * 256, "ä", "\t"])
    async def test_an_invalid_idempotency_key_is_refused(self, key: str, client: Client) -> None:
        refused(await client.post(POST, headers={"Idempotency-Key": key}), 400, "Idempotency")


class TestTime:
    async def test_a_key_is_valid_for_24_hours_and_can_then_be_used_again(
        self, server: Server, client: Client
    ) -> None:
        first = await client.post(POST, headers=ONCE)
        await pass_by(server, "23 hours 59 minutes")
        assert (await client.post(POST, headers=ONCE)).text == first.text
        await pass_by(server, "2 minutes")
        refused(await client.post(POST, headers=ONCE), 409, "'a' already exists")
        second = await client.post({**POST, "title": "B"}, headers=ONCE)
        assert second.data["slug"] == "b"
        assert (await client.post({**POST, "title": "B"}, headers=ONCE)).text == second.text
        refused(await client.post(POST, headers=ONCE), 422)

    async def test_one_of_many_requests_with_an_expired_key_is_executed(
        self, server: Server, client: Client
    ) -> None:
        await client.post(POST, headers=ONCE)
        await pass_by(server, "25 hours")
        before = await head(server)
        new = {**POST, "title": "B"}
        async with serving(server.url, server.repository, projector=False) as other:
            clients = [client, Client(other.session, server.secret())] * 10
            answers = await asyncio.gather(*(one.post(new, headers=ONCE) for one in clients))
        assert {answer.status for answer in answers} <= {200, 409}
        assert len({answer.text for answer in answers if answer.status == 200}) == 1
        assert await head(server) == before + 1


class TestInFlight:
    async def test_a_repetition_is_refused_while_the_first_is_in_progress(
        self, server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reached, answer = asyncio.Event(), asyncio.Event()

        async def waits(*_: Any) -> bool:
            reached.set()
            await answer.wait()
            return True

        monkeypatch.setattr(server.service.checkpoint, "wait", waits)
        first = asyncio.create_task(client.post(POST, headers=ONCE))
        await reached.wait()
        refused(await client.post(POST, headers=ONCE), 409, "still in progress")
        answer.set()
        done = await first
        assert done.status == 200
        assert (await client.post(POST, headers=ONCE)).text == done.text

    async def test_one_of_forty_simultaneous_requests_is_executed(
        self, server: Server, client: Client
    ) -> None:
        before = await head(server)
        async with serving(server.url, server.repository, projector=False) as other:
            both = [client, Client(other.session, server.secret())] * 20
            answers = await asyncio.gather(*(one.post(POST, headers=ONCE) for one in both))
        assert {answer.status for answer in answers} <= {200, 409}
        assert len({answer.text for answer in answers if answer.status == 200}) == 1
        assert await head(server) == before + 1


async def test_a_lost_response_is_returned_to_a_repetition(client: Client) -> None:
    for _ in range(20):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.001):
                await client.post(POST, headers=ONCE)
    answer = await client.post(POST, headers=ONCE)
    while answer.status == 409:  # an earlier request still waits for its entry to be visible
        answer = await client.post(POST, headers=ONCE)
    assert answer.data["slug"] == "a"
    assert (await client.get("/v1/content")).body["pagination"]["total"] == 1
