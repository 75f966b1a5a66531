"""Who calls is known in memory, and never for longer than it is true."""

from __future__ import annotations

import asyncio
import hashlib
import time

import pytest

from api import access
from api.access import Access
from tests.integration.projector.given import Given
from write_side import commands as c
from write_side.repository import Repository
from write_side.store.conflicts import StoreUnavailable

SECRET = "secret-of-somebody-who-calls"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


@pytest.fixture
async def given(repository: Repository) -> Given:
    given = Given(repository)
    await given.workspace()
    await given.does(
        c.IssueKey,
        workspace="acme",
        name="somebody",
        permissions=("content.view",),
        secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
    )
    return given


async def revoked(given: Given) -> None:
    await given.does(c.RevokeKey, workspace="acme", name="somebody")


async def test_a_revoked_key_is_forgotten_though_the_watch_cannot_connect(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "TRUSTED", 0.05)
    async with Access(NOWHERE, given.repository) as known:
        assert await known.caller(SECRET)
        await revoked(given)
        await asyncio.sleep(0.05)
        assert await known.caller(SECRET) is None


async def test_while_the_store_is_away_known_keys_are_served_and_it_is_asked_once_a_second(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "TRUSTED", 0.0)
    looks = 0

    async def away(*_: object) -> None:
        nonlocal looks
        looks += 1
        raise StoreUnavailable

    async with Access(NOWHERE, given.repository) as known:
        assert await known.caller(SECRET)
        monkeypatch.setattr(given.repository.recorder, "fetch", away)
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            assert await asyncio.gather(*(known.caller(SECRET) for _ in range(10)))
    assert looks == 1


async def test_with_the_watch_at_work_no_request_asks(
    given: Given, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Access(database_url, given.repository) as known:
        assert await known.caller(SECRET)
        async with asyncio.timeout(5):
            while known._version is None:  # noqa: ASYNC110 - it is not ours to be told
                await asyncio.sleep(0.01)
        assert await known.caller(SECRET)

        async def never(*_: object) -> None:
            raise AssertionError("a request asked the store")

        monkeypatch.setattr(known, "_look", never)
        assert await known.caller(SECRET)
