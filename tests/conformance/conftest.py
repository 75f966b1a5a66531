"""For each test worker, one live server and projector with the magazine in the log."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.client import CheckedClient
from tests.conformance.isolated_workspace import IsolatedWorkspace, NewAddress, OpenWorkspace
from tests.conformance.magazine import write_magazine
from tests.contract import Contract
from tests.databases import Databases
from tests.engines import engine
from tests.integration.api.server import BOTH, Server, serving
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytest.register_assert_rewrite("tests.conformance.expectations")

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def store_url(databases: Databases) -> Iterator[str]:
    with databases.new() as url:
        yield url


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def live(store_url: str) -> AsyncIterator[Server]:
    async with open_recorder(engine().url_for_requests(store_url)) as recorder:
        repository = Repository(recorder, EventMapper())
        async with serving(store_url, repository) as server:
            await write_magazine(server)
            yield server


@pytest.fixture(scope="package")
def contract() -> Contract:
    return Contract()


@pytest.fixture(scope="package")
def client(live: Server, contract: Contract) -> CheckedClient:
    return CheckedClient(live.session, contract)


@pytest.fixture
def open_workspace(live: Server, client: CheckedClient) -> OpenWorkspace:
    """Creates an isolated workspace with a plan, a key and the magazine's content types."""

    async def opened_workspace(
        permissions: tuple[str, ...] = BOTH, **plan: Any
    ) -> IsolatedWorkspace:
        workspace = IsolatedWorkspace(live, client, f"w{next(_numbers)}")
        await workspace.open(permissions, **plan)
        return workspace

    return opened_workspace


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def limited_client(live: Server, contract: Contract) -> AsyncIterator[CheckedClient]:
    """A second service on the same log: 600 requests a minute for a key, 3 for an address, and
    bodies of up to 2 kB.

    It runs behind a proxy, so each row can send its own address in X-Forwarded-For.
    """
    limits = {"key_rate_limit": 600, "ip_rate_limit": 3, "max_body_bytes": 2048}
    async with serving(
        live.url, live.repository, projector=False, trusted_proxies="127.0.0.1", **limits
    ) as server:
        yield CheckedClient(server.session, contract)


@pytest.fixture
def address() -> NewAddress:
    return lambda: {"X-Forwarded-For": f"2001:db8:{next(_numbers):x}::1"}
