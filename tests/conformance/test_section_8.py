"""Specification §8: limits."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from deploy.settings import Settings
from tests.conformance.cases import create, get, post, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import carries_all_headers, says
from tests.conformance.isolated_workspace import NewAddress, OpenWorkspace
from tests.conformance.windows import in_one_window, limit, remaining, statuses
from tests.contract import Contract
from tests.integration.api.server import Answer, Server, serving

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def default_client(live: Server, contract: Contract) -> AsyncIterator[CheckedClient]:
    """A service with the default limits, behind a proxy."""
    unset = Settings()
    async with serving(
        live.url,
        live.repository,
        projector=False,
        trusted_proxies="127.0.0.1",
        key_rate_limit=unset.key_rate_limit,
        ip_rate_limit=unset.ip_rate_limit,
    ) as server:
        yield CheckedClient(server.session, contract)


async def test_8_3_the_rate_of_a_key_is_set_by_its_plan(open_workspace: OpenWorkspace) -> None:
    async def three_of_two() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=2)
        return [await workspace.get("/v1/content") for _ in range(3)]

    answers = await in_one_window(three_of_two)
    assert statuses(answers) == [200, 200, 429]
    assert [limit(answer) for answer in answers] == [2, 2, 2]
    assert [remaining(answer) for answer in answers] == [1, 0, 0]


async def test_8_4_it_is_600_a_minute_if_the_plan_sets_none(
    default_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    workspace = await open_workspace()
    answer = await default_client.send(get("/v1/content", key=workspace.key, headers=address()))
    assert (answer.status, limit(answer), remaining(answer)) == (200, 600, 599)


async def test_8_5_it_is_1200_a_minute_for_an_address(
    default_client: CheckedClient, address: NewAddress
) -> None:
    answer = await default_client.send(get("/v1/content", key=None, headers=address()))
    assert (limit(answer), remaining(answer)) == (1200, 1199)


async def test_8_5_an_address_over_its_limit_is_refused(
    limited_client: CheckedClient, address: NewAddress
) -> None:
    async def four_of_three() -> list[Answer]:
        request = get("/v1/content", key=None, headers=address())
        return [await limited_client.send(request) for _ in range(4)]

    assert statuses(await in_one_window(four_of_three)) == [401, 401, 401, 429]


async def test_8_9_every_request_counts_regardless_of_its_result(
    open_workspace: OpenWorkspace,
) -> None:
    requests = [
        get("/v1/content"),
        get("/v1/content/posts"),
        get("/v1/content/posts/nothing"),
        get("/v1/content-types"),
        get("/v1/content-types/posts"),
        get("/v1/content?environment=x"),
        get("/v1/content?environment=staging"),
        get("/v1/content?locale=x"),
        with_method("HEAD", "/v1/content"),
        create("Counted"),
        post(b"{"),
        post({"query": "{ __typename }"}, "/graphql"),
        post({"query": "{ nothing }"}, "/graphql"),
        post(b"{", "/graphql"),
    ]

    async def each_once() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=50)
        return [await workspace.send(request) for request in requests]

    answers = await in_one_window(each_once)
    over_rest = [200, 200, 404, 200, 200, 400, 402, 400, 200, 200, 400]
    assert statuses(answers) == [*over_rest, 200, 200, 200]
    assert [remaining(answer) for answer in answers] == list(range(49, 49 - len(requests), -1))


async def test_8_13_over_the_limit_is_429_with_retry_after_and_the_error_body(
    open_workspace: OpenWorkspace,
) -> None:
    async def one_of_none() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=1)
        return [await workspace.create("Passes"), await workspace.create("Does not")]

    [_, refused] = await in_one_window(one_of_none)
    assert refused.status == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    says("Rate limit exceeded", refused.headers["Retry-After"])(refused)
    carries_all_headers(refused)
