"""Our readings: keys and tenants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from tests.conformance.cases import Case, create, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import entry, error, pagination, says, slugs
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import (
    EXPIRED,
    HARBOUR,
    KEY,
    NOBODY,
    PRODUCTION_ONLY,
    REHEARSER,
    REVOKED,
    SECRET,
    STRANGER,
)
from tests.integration.api.server import Server
from tests.integration.live_projector import connected, dump
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c

pytestmark = pytest.mark.asyncio(loop_scope="package")

UNAUTHORIZED = error("Unauthorized - Invalid or missing API key")
OTHER = (
    "Forbidden - this API key works in staging only: "
    "use environment=staging in the query, or the X-Environment header"
)
GOOD = {
    "a Bearer": {"Authorization": f"Bearer {KEY}"},
    "a bearer in lower case": {"Authorization": f"bearer {KEY}"},
    "a BEARER in upper case, with spaces": {"Authorization": f"BEARER   {KEY} "},
    "a Bearer beside a bad X-API-Key": {"Authorization": f"Bearer {KEY}", "X-API-Key": "nobody's"},
    "an X-API-Key": {"X-API-Key": KEY},
    "an X-API-Key beside an empty Authorization": {"Authorization": "", "X-API-Key": KEY},
    "an X-API-Key beside HTTP Basic": {"Authorization": "Basic YTpi", "X-API-Key": KEY},
}
BAD = {
    "an empty Authorization": {"Authorization": ""},
    "a Bearer without a key": {"Authorization": "Bearer"},
    "a Bearer with an empty key": {"Authorization": "Bearer "},
    "an unknown key": {"Authorization": "Bearer nobody's"},
    "a revoked key": {"Authorization": f"Bearer {REVOKED}"},
    "an expired key": {"Authorization": f"Bearer {EXPIRED}"},
    "a bare key": {"Authorization": KEY},
    "another scheme": {"Authorization": f"Token {KEY}"},
    "a bad Bearer beside a good X-API-Key": {
        "Authorization": "Bearer nobody's",
        "X-API-Key": KEY,
    },
    "a Bearer without a key beside a good X-API-Key": {"Authorization": "Bearer", "X-API-Key": KEY},
    "an empty X-API-Key": {"X-API-Key": ""},
    "an unknown X-API-Key": {"X-API-Key": "nobody's"},
    "a revoked X-API-Key": {"X-API-Key": REVOKED},
    "a hash for a key": {"X-API-Key": hashlib.sha256(KEY.encode()).hexdigest()},
}


def each_way() -> Iterator[Case]:
    for what, headers in GOOD.items():
        request = get("/v1/content/posts", key=None, headers=headers)
        yield Case(f"keys.3 {what} is accepted", request, 200, slugs("plain", "harbour"))
    for what, headers in BAD.items():
        request = get("/v1/content/posts", key=None, headers=headers)
        yield Case(f"keys.4 {what} is 401", request, 401, UNAUTHORIZED)


@table(
    *each_way(),
    Case(
        "keys.1 the workspace comes from the key alone",
        get("/v1/content/posts?workspace=magazine", key=STRANGER),
        200,
        slugs("secret"),
        entry(id=SECRET),
    ),
    Case(
        "keys.1 and from no header",
        get("/v1/content/posts", key=STRANGER, headers={"X-Workspace": "magazine"}),
        200,
        slugs("secret"),
    ),
    Case(
        "keys.2 another's type is unknown",
        get("/v1/content/private"),
        404,
        error("Content type not found"),
    ),
    Case(
        "keys.2 another's type has no record",
        get("/v1/content-types/private"),
        404,
        error("Content type not found"),
    ),
    Case(
        "keys.2 another's type is unknown across types",
        get("/v1/content?type=private"),
        404,
        error("Content type not found"),
    ),
    Case(
        "keys.2 another's type is unknown to a create",
        create("A", type_slug="private"),
        404,
        error("Content type not found"),
    ),
    Case(
        "keys.2 another's entry is unknown",
        get("/v1/content/posts/secret"),
        404,
        error("Content entry not found"),
    ),
    Case(
        "keys.2 ours is unknown to them",
        get("/v1/content/posts/harbour", key=STRANGER),
        404,
        error("Content entry not found"),
    ),
    Case(
        "keys.2 totals are of one workspace",
        get("/v1/content", key=STRANGER),
        200,
        pagination(total=1),
    ),
    Case(
        "keys.6 a key of one environment works there",
        get("/v1/content/posts?environment=staging", key=REHEARSER),
        200,
        slugs("rehearsal"),
    ),
    Case(
        "keys.6 it is 403 in the other",
        get("/v1/content/posts?environment=production", key=REHEARSER),
        403,
        error(OTHER),
    ),
    Case(
        "keys.6 which a request means that names none",
        get("/v1/content/posts", key=REHEARSER),
        403,
        error(OTHER),
    ),
    Case(
        "keys.6 after an unknown environment",
        get("/v1/content/posts?environment=x", key=REHEARSER),
        400,
        says("Unknown environment"),
    ),
    Case(
        "keys.6 before the plan",
        get("/v1/content/posts?environment=staging", key=PRODUCTION_ONLY),
        403,
        says("works in production only"),
    ),
    Case(
        "keys.6 before parameters",
        get("/v1/content/posts?locale=x", key=REHEARSER),
        403,
        error(OTHER),
    ),
)
async def test_keys(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@pytest.mark.parametrize("field", ["author", "related"])
async def test_keys_2_an_entry_of_another_workspace_is_refused_like_an_unknown_one(
    field: str, client: CheckedClient
) -> None:
    texts = set()
    for target in (SECRET, HARBOUR, NOBODY):
        value = [target] if field == "related" else target
        answer = await client.send(create("A", fields={field: value}))
        assert answer.status == 400
        texts.add(answer.text.replace(target, "…"))
    assert len(texts) == 1


async def test_keys_4_every_401_is_the_same(client: CheckedClient) -> None:
    own = {"x-request-id", "date", "x-ratelimit-remaining", "x-ratelimit-reset"}
    shown = set()
    for headers in BAD.values():
        answer = await client.send(get("/v1/content", key=None, headers=headers))
        headers_but_own = {n: t for n, t in answer.headers.items() if n.lower() not in own}
        shown.add((answer.status, answer.text, tuple(sorted(headers_but_own.items()))))
    assert len(shown) == 1


async def test_keys_4_a_key_is_refused_once_it_is_revoked(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    assert (await workspace.get("/v1/content")).status == 200
    await workspace.builder.execute(c.RevokeKey, workspace=workspace.slug, name=workspace.key)
    await workspace.until("/v1/content", 401)
    UNAUTHORIZED(await workspace.get("/v1/content"))


async def test_keys_5_only_a_hash_of_a_key_is_stored(live: Server) -> None:
    """The other keys of these tests are named after their secrets, so the test issues its own."""
    secret, owner = "a-secret-that-is-nowhere-kept", "stranger"
    digest = hashlib.sha256(secret.encode()).hexdigest()
    await ContentBuilder(live.repository).execute(
        c.IssueKey,
        workspace=owner,
        name="its name says nothing",
        permissions=("content.view",),
        secret_hash=digest,
    )
    assert (await live.client(secret).get("/v1/content")).status == 200
    await live.caught_up()
    kept = await everything(live.url) + str(await dump(live.url))
    assert digest in kept
    assert secret not in kept


async def everything(url: str) -> str:
    """Returns every row of the event store as text."""
    async with connected(url) as connection:
        tables = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'write_side'"
        )
        rows = [
            await connection.fetch(f"SELECT t::text FROM write_side.{table['tablename']} t")  # noqa: S608
            for table in tables
        ]
    return "\n".join(row[0] for found in rows for row in found)
