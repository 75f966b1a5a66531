"""Our readings: rate limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.conformance.cases import Case, get, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import carries_all_headers, error, limits_shown, says
from tests.conformance.isolated_workspace import NewAddress, OpenWorkspace
from tests.conformance.magazine import KEY, OPERATOR
from tests.conformance.windows import in_one_window, limit, remaining, statuses
from tests.contract import Contract
from tests.integration.api.server import Answer, Server, malformed_http, serving

pytestmark = pytest.mark.asyncio(loop_scope="package")

OTHERS = {
    "200 of an entry": (get("/v1/content/posts/harbour"), 200),
    "200 of a HEAD": (with_method("HEAD", "/v1/content/posts"), 200),
    "200 of content types": (get("/v1/content-types"), 200),
    "204 of a preflight": (with_method("OPTIONS", "/v1/content/posts", key=None), 204),
    "404 of the router": (get("/nothing"), 404),
    "405": (with_method("DELETE", "/v1/content"), 405),
    "the document": (get("/v1/openapi.json", key=None), 200),
    "the page": (get("/docs", key=None), 200),
    "the health of the process": (get("/healthz", key=None), 200),
    "its readiness": (get("/readyz", key=None), 200),
    "its metrics": (get("/metrics", key=OPERATOR), 200),
    "its metrics without a key": (get("/metrics", key=None), 401),
}


def on_every_response() -> Iterator[Case]:
    """The rows of §4.0, §5 and §7 check the other responses."""
    for what, (request, status) in OTHERS.items():
        yield Case(f"8.10, 8.11, 8.12, limits.3 {what}", request, status, limits_shown)


def ends_within_a_minute(answer: Answer) -> None:
    reset = answer.headers["X-RateLimit-Reset"]
    assert reset.isdecimal()
    assert -30 <= int(reset) - time.time() <= 61  # on a slow machine, the check runs later


@table(
    *on_every_response(),
    Case("limits.6 Reset is Unix seconds", get("/v1/content"), 200, ends_within_a_minute),
    Case("limits.6 on a refusal too", get("/v1/content", key=None), 401, ends_within_a_minute),
)
async def test_limits(case: Case, client: CheckedClient) -> None:
    await client.check(case)


def is_away(*_: object, **__: object) -> None:
    raise ConnectionRefusedError("10.0.0.7")


async def test_limits_3_a_304_shows_them(client: CheckedClient) -> None:
    tag = (await client.send(get("/v1/content"))).headers["ETag"]
    answer = await client.send(get("/v1/content", headers={"If-None-Match": tag}))
    assert answer.status == 304
    limits_shown(answer)


async def test_limits_3_a_413_shows_them(
    limited_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    workspace = await open_workspace()
    answer = await limited_client.send(post(b" " * 4096, key=workspace.key, headers=address()))
    assert answer.status == 413
    limits_shown(answer)
    says("too large")(answer)


async def test_limits_3_a_422_shows_them(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    headers = {"Idempotency-Key": "one"}
    bodies = [{"contentTypeSlug": "posts", "title": title} for title in ("One", "Two")]
    answers = [await workspace.send(post(body, headers=headers)) for body in bodies]
    assert statuses(answers) == [200, 422]
    for answer in answers:
        limits_shown(answer)


async def test_limits_3_a_503_shows_them(
    client: CheckedClient, live: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.forget()
    monkeypatch.setattr(type(live.service.read_model), "fetch", is_away)
    answer = await client.send(get("/v1/content"))
    assert answer.status == 503
    carries_all_headers(answer)
    error("Service temporarily unavailable, please retry")(answer)


async def test_limits_3_malformed_http_shows_them(live: Server) -> None:
    answer = await malformed_http(live)
    assert answer.status == 400
    limits_shown(answer)


async def test_limits_1_both_buckets_have_the_same_window(
    limited_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    async def one_of_each() -> list[Answer]:
        workspace, headers = await open_workspace(requests_per_minute=1), address()
        requests = [get("/v1/content", key=key, headers=headers) for key in (workspace.key, None)]
        return [await limited_client.send(request) for request in requests]

    of_key, of_address = await in_one_window(one_of_each)
    assert (limit(of_key), limit(of_address)) == (1, 3)
    assert of_key.headers["X-RateLimit-Reset"] == of_address.headers["X-RateLimit-Reset"]
    limits_shown(of_key)


async def test_limits_2_and_4_each_answer_describes_its_bucket(
    limited_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    """A response describes the bucket with the fewest requests left; a 429 describes the one that
    refused."""

    async def all_of_them() -> list[Answer]:
        workspace, headers = await open_workspace(requests_per_minute=1), address()
        good, bad = (
            get("/v1/content", key=key, headers=headers) for key in (workspace.key, "nobody's")
        )
        return [await limited_client.send(request) for request in (bad, good, good, good)]

    answers = await in_one_window(all_of_them)
    shown = [(answer.status, limit(answer), remaining(answer)) for answer in answers]
    assert shown == [(401, 3, 2), (200, 1, 0), (429, 1, 0), (429, 3, 0)]


async def test_limits_3_headers_describe_the_bucket_with_the_fewest_requests_left(
    limited_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    async def around() -> list[Answer]:
        wide, narrow = await open_workspace(), await open_workspace(requests_per_minute=2)
        headers = address()
        answers = [
            get("/v1/content", key=wide.key, headers=headers),
            get("/nothing", key=wide.key, headers=headers),
            with_method("OPTIONS", "/v1/content/posts", key=wide.key, headers=headers),
            get("/v1/content", key=narrow.key, headers=headers),
            get("/v1/content", key=narrow.key, headers=headers | address()),
            get("/nothing", key=narrow.key, headers=headers | address()),
        ]
        return [await limited_client.send(request) for request in answers]

    answers = await in_one_window(around)
    shown = [(answer.status, limit(answer), remaining(answer)) for answer in answers]
    of_address, of_key = shown[:3], shown[3:]
    assert of_address == [(200, 3, 2), (404, 3, 2), (204, 3, 2)]
    # After the fourth request, both buckets have one request left.
    assert of_key == [(200, 2, 1), (200, 2, 0), (404, 2, 0)]


async def test_limits_4_the_router_describes_the_keys_bucket_and_counts_nothing(
    open_workspace: OpenWorkspace,
) -> None:
    async def around() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=7)
        answers = [
            get("/v1/content"),
            get("/nothing"),
            with_method("DELETE", "/v1/content"),
            with_method("OPTIONS", "/v1/content/posts"),
            with_method("OPTIONS", "/v1/content/posts", headers={"Authorization": "Bearer nobody"}),
            get("/v1/content"),
        ]
        return [await workspace.send(request) for request in answers]

    answers = await in_one_window(around)
    assert [answer.status for answer in answers] == [200, 404, 405, 204, 204, 200]
    *of_key, of_address, last = ((limit(answer), remaining(answer)) for answer in answers)
    assert of_key == [(7, 6)] * 4
    assert of_address[0] != 7
    assert last == (7, 5)


async def test_limits_4_invalid_keys_count_against_the_address_on_the_router_too(
    limited_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    async def try_keys() -> list[Answer]:
        workspace, headers = await open_workspace(requests_per_minute=7), address()
        keys = ["nobody's", "no-one's", "nothing's", workspace.key]
        return [
            await limited_client.send(get("/nothing", key=key, headers=headers)) for key in keys
        ]

    answers = await in_one_window(try_keys)
    shown = [(answer.status, limit(answer), remaining(answer)) for answer in answers]
    assert shown == [(404, 3, 2), (404, 3, 1), (404, 3, 0), (404, 3, 0)]


async def test_limits_5_remaining_is_never_below_0(open_workspace: OpenWorkspace) -> None:
    async def far_too_often() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=2)
        return [await workspace.get("/v1/content") for _ in range(6)]

    answers = await in_one_window(far_too_often)
    assert [remaining(answer) for answer in answers] == [1, 0, 0, 0, 0, 0]


async def test_limits_7_retry_after_is_the_number_in_the_message(
    open_workspace: OpenWorkspace,
) -> None:
    async def twice() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=1)
        return [await workspace.get("/v1/content") for _ in range(2)]

    refused = (await in_one_window(twice))[1]
    wait = refused.headers["Retry-After"]
    assert wait.isdecimal()
    assert 1 <= int(wait) <= 60
    says(f"retry in {wait} seconds")(refused)


async def test_limits_8_the_limit_holds_across_services(
    client: CheckedClient,
    limited_client: CheckedClient,
    address: NewAddress,
    open_workspace: OpenWorkspace,
) -> None:
    async def by_turns() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=5)
        turns = [client, limited_client] * 4
        requests = [get("/v1/content", key=workspace.key, headers=address()) for _ in turns]
        return [await turn.send(r) for turn, r in zip(turns, requests, strict=True)]

    answers = await in_one_window(by_turns)
    assert statuses(answers) == [*[200] * 5, *[429] * 3]


async def test_limits_9_at_once_exactly_the_limit_passes(
    client: CheckedClient,
    limited_client: CheckedClient,
    address: NewAddress,
    open_workspace: OpenWorkspace,
) -> None:
    async def at_once() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=12)
        requests = [get("/v1/content", key=workspace.key, headers=address()) for _ in range(20)]
        return await asyncio.gather(
            *(turn.send(request) for turn in (client, limited_client) for request in requests)
        )

    answers = await in_one_window(at_once)
    assert sorted(statuses(answers)) == [*[200] * 12, *[429] * 28]
    assert all(remaining(answer) < 12 for answer in answers)


async def test_limits_10_the_header_of_a_trusted_proxy_counts(
    limited_client: CheckedClient, address: NewAddress
) -> None:
    async def from_two() -> list[Answer]:
        one, other = address(), address()
        behind = {"X-Forwarded-For": f"192.0.2.1, {one['X-Forwarded-For']}"}
        return [
            await limited_client.send(get("/v1/content", key=None, headers=headers))
            for headers in (one, other, behind)
        ]

    answers = await in_one_window(from_two)
    assert [remaining(answer) for answer in answers] == [2, 2, 1]


async def test_limits_10_the_header_of_an_untrusted_client_does_not_count(
    client: CheckedClient, address: NewAddress
) -> None:
    async def from_two() -> list[Answer]:
        requests = [get("/v1/content", key=None, headers=address()) for _ in range(2)]
        return [await client.send(request) for request in requests]

    first, second = await in_one_window(from_two)
    assert remaining(second) == remaining(first) - 1


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def unlimited_client(live: Server, contract: Contract) -> AsyncIterator[CheckedClient]:
    """A third service on the same log, with both limits off."""
    off = {"key_rate_limit": 0, "ip_rate_limit": 0}
    async with serving(live.url, live.repository, projector=False, **off) as server:
        yield CheckedClient(server.session, contract)


@pytest.mark.parametrize("key", [KEY, None], ids=["key", "address"])
async def test_limits_11_a_limit_of_0_means_no_limit(
    key: str | None, unlimited_client: CheckedClient
) -> None:
    for _ in range(3):
        answer = await unlimited_client.send(get("/v1/content", key=key))
        assert (limit(answer), remaining(answer)) == (1_000_000_000, 1_000_000_000)
        ends_within_a_minute(answer)
        limits_shown(answer)


async def test_limits_11_a_plans_limit_applies_even_if_the_setting_is_0(
    unlimited_client: CheckedClient, open_workspace: OpenWorkspace
) -> None:
    async def twice() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=1)
        return [
            await unlimited_client.send(get("/v1/content", key=workspace.key)) for _ in range(2)
        ]

    assert statuses(await in_one_window(twice)) == [200, 429]
