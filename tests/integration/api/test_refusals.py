"""Refused requests: the reasons, the order of the checks, and the messages."""

from __future__ import annotations

import gzip
from itertools import product
from typing import Any

import pytest

from api.auth.access import Access
from api.auth.keys import Caller
from api.rest.content import FIELDS
from tests.integration.api.server import ACME, BOTH, Answer, Client, Server, serving
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import BODY, ContentBuilder
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNAUTHORIZED = {"error": "Unauthorized - Invalid or missing API key"}
NOT_JSON = "Request body must be valid JSON"
MISSING = "Missing required fields: contentTypeSlug and title"
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
KEYS = [
    {"Authorization": "Bearer secret-of-acme"},
    {"Authorization": "bearer secret-of-acme"},
    {"Authorization": "BEARER   secret-of-acme "},
    {"X-API-Key": "secret-of-acme"},
    {"Authorization": "Bearer secret-of-acme", "X-API-Key": "unknown"},
]
BODIES = [
    (b"", NOT_JSON),
    (b"{", NOT_JSON),
    (b"nonsense", NOT_JSON),
    (b'{"title": NaN}', NOT_JSON),
    (b'{"contentTypeSlug":"posts","title":"\xff"}', NOT_JSON),
    (b"[]", MISSING),
    (b'"text"', MISSING),
    (b"null", MISSING),
    (b"{}", MISSING),
    (b'{"contentTypeSlug":"posts"}', MISSING),
    (b'{"title":"A"}', MISSING),
    (b'{"contentTypeSlug":"","title":"A"}', MISSING),
    (b'{"contentTypeSlug":"posts","title":""}', MISSING),
    (b'{"contentTypeSlug":"posts","title":7,"slug":7}', MISSING),
    (b'{"contentTypeSlug":["posts"],"title":"A","fields":[]}', MISSING),
    (b'{"contentTypeSlug":"no","title":"A","slug":7,"fields":[]}', "slug must be"),
    (b'{"contentTypeSlug":"no","title":"A","slug":null}', "slug must be a string"),
    (b'{"contentTypeSlug":"no","title":"A","fields":[]}', FIELDS),
    (b'{"contentTypeSlug":"no","title":"A","fields":null}', FIELDS),
    (b'{"contentTypeSlug":"posts","title":"A","fields":{"body":7}}', "'body' takes a st"),
    (b'{"contentTypeSlug":"posts","title":"a\\u0000b"}', "NUL"),
    (b'{"contentTypeSlug":"posts","title":"\\ud800"}', "surrogate"),
    (b"[" * 50_000, "nested deeper"),
]
NO_PATHS = ["/", "/v1", "/v2/content", "/v1/content/", "/v1/content/posts/", "/v1/content/a/b/c"]
WRONG_METHODS = [
    ("DELETE", "/v1/content", {"GET", "HEAD", "POST"}),
    ("PUT", "/v1/content/posts", {"GET", "HEAD", "OPTIONS"}),
    ("POST", "/v1/content/posts/a", {"GET", "HEAD", "OPTIONS"}),
    ("POST", "/healthz", {"GET", "HEAD"}),
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


def sent(headers: list[dict[str, str]], server: Server) -> list[dict[str, str]]:
    """The headers with the secret of this test's key."""

    def with_secret(value: str) -> str:
        with_secret = value.replace(ACME, server.secret())
        return with_secret.replace(ACME.upper(), server.secret().upper())

    return [{name: with_secret(value) for name, value in each.items()} for each in headers]


class TestKeys:
    async def test_missing_and_unknown_keys_are_refused_alike(self, server: Server) -> None:
        await server.workspace()
        for headers in sent(NO_KEYS, server):
            answer = await server.client(None).get("/v1/content?environment=x", headers=headers)
            assert (answer.status, answer.body) == (401, UNAUTHORIZED), headers

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

    async def test_bearer_takes_precedence_over_x_api_key(self, server: Server) -> None:
        await server.workspace()
        for headers in sent(KEYS, server):
            answer = await server.client(None).get("/v1/content", headers=headers)
            assert answer.status == 200, headers

    @pytest.mark.asyncio(loop_scope="function")
    @pytest.mark.parametrize("projector", [True, False], ids=["projector up", "projector down"])
    async def test_a_revoked_key_is_refused_within_a_second(
        self, projector: bool, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=projector) as server:
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

    @pytest.mark.parametrize(("held", "lacking"), [BOTH, BOTH[::-1]])
    async def test_the_missing_permission_is_named(
        self, held: str, lacking: str, server: Server
    ) -> None:
        await server.workspace(permissions=(held,))
        client = server.client()
        answers = {
            "content.view": await client.get("/v1/content?environment=x"),
            "content.edit": await client.post(b"not JSON", "/v1/content?environment=x"),
        }
        refused(answers[lacking], 403, "Forbidden - this API key needs the ", lacking)
        refused(answers[held], 400, "Unknown environment")


class TestTenants:
    async def test_content_of_another_workspace_does_not_exist(
        self, server: Server, client: Client, acme: ContentBuilder
    ) -> None:
        other = await server.workspace("other")
        await acme.content_type(slug="private")
        await acme.content_type()
        await other.content_type(Field("to", "To", "reference"))
        entry_id = await acme.entry("one", status="published")
        await server.caught_up()
        stranger = server.client("secret-of-other")
        assert (await stranger.get("/v1/content")).data == []
        assert (await stranger.get("/v1/content/posts")).data == []
        refused(await stranger.get("/v1/content/private"), 404, "Content type not found")
        refused(await stranger.get("/v1/content?type=private"), 404, "Content type not found")
        refused(await stranger.get("/v1/content/posts/one"), 404, "Content entry not found")
        refused(await stranger.post({**POST, "contentTypeSlug": "private"}), 404)
        reference = await stranger.post({**POST, "fields": {"to": entry_id}})
        unknown = await stranger.post({**POST, "fields": {"to": acme_like(entry_id)}})
        refused(reference, 400, entry_id)
        assert reference.text.replace(entry_id, "x") == unknown.text.replace(
            acme_like(entry_id), "x"
        ), "as if there were no such entry"
        assert (await client.get("/v1/content/posts/one")).data["id"] == entry_id


def acme_like(entry_id: str) -> str:
    return entry_id[:-1] + ("0" if entry_id[-1] != "0" else "1")


class TestEnvironments:
    async def test_environments_are_checked_as_unknown_not_in_plan_not_set_up(
        self, server: Server
    ) -> None:
        acme = await server.workspace()
        client = server.client()
        unknown = await client.get("/v1/content?environment=prod&locale=xx")
        refused(unknown, 400, "prod", "use production or staging")
        staging = "/v1/content?environment=staging&locale=xx"
        refused(await client.get(staging), 402, "not included in your team's plan")
        await acme.change_plan(staging=True)

        async def not_set_up() -> bool:
            return (await client.get(staging)).status == 404

        await until(not_set_up, SOON)
        refused(await client.get(staging), 404, "This team has no staging environment yet")
        await acme.staging()

        async def set_up() -> bool:
            return (await client.get(staging)).status == 400

        await until(set_up, SOON)
        refused(await client.get(staging), 400, "Unsupported locale", "xx")

    async def test_the_locale_is_checked_before_the_status_and_the_content(
        self, client: Client
    ) -> None:
        refused(await client.get("/v1/content/no?locale=en&status=x"), 400, "locale 'en'")
        refused(await client.get("/v1/content/no?status=x"), 400, "status 'x'", "archived")
        refused(await client.get("/v1/content/no"), 404, "Content type not found")
        refused(await client.get("/v1/content/no/nope"), 404, "Content type not found")


class TestBodies:
    async def test_the_first_error_is_reported(self, client: Client, acme: ContentBuilder) -> None:
        await acme.content_type()
        for body, says in BODIES:
            refused(await client.post(body), 400, says)

    async def test_content_is_checked_after_the_body_in_order(
        self, server: Server, acme: ContentBuilder
    ) -> None:
        """The order: content type, values, references, slug, plan limit."""
        client = server.client()
        await acme.content_type(BODY, Field("to", "To", "reference"))
        await acme.entry("a")
        await acme.change_plan(entries=1)
        head = await server.repository.recorder.head()
        bad: dict[str, Any] = {"body": 7, "to": "nothing"}
        refused(await client.post({**POST, "contentTypeSlug": "no", "fields": bad}), 404)
        refused(await client.post({**POST, "fields": bad}), 400, "'body' takes a string")
        refused(await client.post({**POST, "fields": {"to": "nothing"}}), 400, "'nothing'")
        refused(await client.post(POST), 409, "'a' already exists")
        refused(await client.post({**POST, "title": "B"}), 402, "limit of 1 entries")
        assert await server.repository.recorder.head() == head, "nothing was appended"

    async def test_an_empty_slug_is_an_absent_one(
        self, client: Client, acme: ContentBuilder
    ) -> None:
        await acme.content_type()
        assert (await client.post({**POST, "slug": ""})).data["slug"] == "a"

    @pytest.mark.asyncio(loop_scope="function")
    async def test_a_body_that_is_too_large_is_refused_as_such(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, max_body_bytes=1000) as server:
            await server.workspace()
            client = server.client()
            refused(await client.post({**POST, "title": "x" * 2000}), 413, "too large")
            assert (await client.post({**POST, "title": "x" * 100})).status == 404

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


class TestRouter:
    async def test_an_unknown_path_is_not_found_with_or_without_a_key(
        self, server: Server, client: Client
    ) -> None:
        for path, who in product(NO_PATHS, (client, server.client(None))):
            answer = await who.get(path)
            assert (answer.status, answer.body) == (404, {"error": "Not found"})

    async def test_an_unsupported_method_gets_the_supported_ones(self, client: Client) -> None:
        for method, path, allowed in WRONG_METHODS:
            answer = await client.ask(method, path)
            refused(answer, 405, "Method not allowed")
            assert set(answer.headers["Allow"].split(",")) == allowed


async def test_an_internal_error_reveals_no_details(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("api.rest.content.paging.list_across_types", fails)
    answer = await client.get("/v1/content")
    refused(answer, 500, "Internal server error")
    assert "hunter2" not in answer.text + str(answer.headers)
    assert answer.headers["X-Request-Id"]


async def test_an_unavailable_read_model_is_503(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("10.0.0.7")

    monkeypatch.setattr(type(server.service.read_model), "fetch", away)
    answer = await client.get("/v1/content")
    refused(answer, 503, "please retry")
    assert answer.headers["Retry-After"] == "1"
    assert "10.0.0.7" not in answer.text
