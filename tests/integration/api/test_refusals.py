"""Keys that change while they are used, and bodies that are refused.

The other refusals, with their order and messages, are in tests/conformance."""

from __future__ import annotations

import gzip

import pytest

from api.auth.access import Access
from api.auth.keys import Caller
from tests.integration.api.server import Answer, Client, Server, serving
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

POST = {"contentTypeSlug": "posts", "title": "A"}
NO_KEYS: list[dict[str, str]] = [
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer "},
    {"Authorization": "Bearer unknown"},
    {"Authorization": "secret-of-acme"},
    {"Authorization": "Basic secret-of-acme"},
    {"Authorization": "Bearer unknown", "X-API-Key": "secret-of-acme"},
    {"Authorization": "Bearer", "X-API-Key": "secret-of-acme"},
    {"X-API-Key": ""},
    {"X-API-Key": "Bearer secret-of-acme"},
    {"X-API-Key": "SECRET-OF-ACME"},
    {"Authorization": "Bearer " + "x" * 5000},
]

SOON = 10
"""Seconds. One second is promised, but this machine may be busy."""


def refused(answer: Answer, status: int, *says: str) -> None:
    """Check for the error envelope, with these words in its message."""
    assert answer.status == status, answer.text
    assert list(answer.body) == ["error"]
    assert answer.headers["Content-Type"] == "application/json"
    for words in says:
        assert words in answer.body["error"]


class TestKeys:
    async def test_every_invalid_key_is_looked_up(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All refusals then take equally long; ``test_access`` checks that each lookup does the
        same work."""
        secrets = []
        caller = Access.caller

        async def noted(access: Access, secret: str) -> Caller | None:
            secrets.append(secret)
            return await caller(access, secret)

        monkeypatch.setattr(Access, "caller", noted)
        for headers in NO_KEYS:
            await server.client(None).get("/v1/content", headers=headers)
        assert len(secrets) == len(NO_KEYS)

    @pytest.mark.asyncio(loop_scope="function")
    async def test_a_revoked_key_is_refused_without_a_projector(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False) as server:
            acme = await server.workspace()
            client = server.client()
            assert (await client.get("/v1/content")).status == 200
            await acme.revoke("secret-of-acme")

            async def is_refused() -> bool:
                return (await client.get("/v1/content")).status == 401

            await until(is_refused)

    async def test_a_new_key_works_at_once_even_if_it_was_unknown_before(
        self, server: Server
    ) -> None:
        await server.workspace()
        client = server.client("fresh")
        assert (await client.get("/v1/content")).status == 401
        await server.key("fresh", "acme")

        async def serves() -> bool:
            return (await client.get("/v1/content")).status == 200

        await until(serves, SOON)

    async def test_a_change_of_permissions_takes_effect_within_a_second(
        self, client: Client, acme: ContentBuilder
    ) -> None:
        await acme.content_type()
        assert (await client.post(POST)).status == 200
        permissions = {"name": "secret-of-acme", "permissions": ("content.view",)}
        await acme.execute(c.PermitKey, workspace=acme.scope.workspace, **permissions)

        async def forbidden() -> bool:
            return (await client.post(POST)).status == 403

        await until(forbidden, SOON)


class TestBodies:
    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (b'{"contentTypeSlug":"posts","title":"a\\u0000b"}', "NUL"),
            (b'{"contentTypeSlug":"posts","title":"\\ud800"}', "surrogate"),
            (b"[" * 50_000, "nested deeper"),
        ],
    )
    async def test_text_that_cannot_be_stored_is_refused(
        self, body: bytes, reason: str, client: Client, acme: ContentBuilder
    ) -> None:
        await acme.content_type()
        refused(await client.post(body), 400, reason)

    @pytest.mark.asyncio(loop_scope="function")
    async def test_a_compressed_body_may_be_damaged_or_endless(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, max_body_bytes=100_000) as server:
            await server.workspace()
            client = server.client()
            headers = {"Content-Encoding": "gzip", "Connection": "close"}
            refused(await client.post(b"no gzip", headers=headers), 400, "cannot be read")
            bomb = gzip.compress(b" " * 50_000_000)
            assert len(bomb) < 100_000
            refused(await client.post(bomb, headers=headers), 413)
            small = gzip.compress(b'{"contentTypeSlug":"no","title":"A"}')
            refused(await client.post(small, headers=headers), 404, "Content type not found")
