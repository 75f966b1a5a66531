"""API keys are checked in memory and never outlive their validity."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from api.auth import access
from api.auth.access import Access
from api.auth.keys import KeyLoader, Keys
from api.errors import KeysUnavailable
from tests import store_clock
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import ContentBuilder
from tests.proxy import proxy_to
from tests.store_clock import follow_clock
from write_side import commands as c
from write_side.repository import Repository
from write_side.store.access import last_uses, record_use
from write_side.store.conflicts import StoreUnavailable

SECRET = "secret-of-somebody-who-calls"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
FOR_EVER = 3600.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow database on a busy machine does not count as unavailable."""
    monkeypatch.setattr(access, "PATIENCE", 30.0)


@pytest.fixture
async def builder(repository: Repository) -> ContentBuilder:
    builder = ContentBuilder(repository)
    await builder.workspace()
    await issue(builder, "somebody", SECRET)
    return builder


async def issue(builder: ContentBuilder, name: str, secret: str, **limits: Any) -> None:
    await builder.execute(
        c.IssueKey,
        workspace="acme",
        name=name,
        permissions=("content.view",),
        secret_hash=hashlib.sha256(secret.encode()).hexdigest(),
        **limits,
    )


async def revoke(builder: ContentBuilder) -> None:
    await builder.execute(c.RevokeKey, workspace="acme", name="somebody")


@pytest.fixture
def no_periodic_refresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No periodic refresh: only requests refresh the keys, and only when necessary."""
    monkeypatch.setattr(access, "POLL", FOR_EVER)
    monkeypatch.setattr(access, "VALID", FOR_EVER)


@contextmanager
def recorded_refreshes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Records the start time of each refresh."""
    refreshes: list[float] = []
    refresh = KeyLoader.refresh

    async def recorded(claims: KeyLoader) -> None:
        refreshes.append(asyncio.get_running_loop().time())
        await refresh(claims)

    with monkeypatch.context() as patch:
        patch.setattr(KeyLoader, "refresh", recorded)
        yield refreshes


async def wait_until_current(known: Access) -> None:
    """Waits until the connection listens and the keys have been refreshed since the last
    notification."""

    async def is_current() -> bool:
        return known._connection is not None and known._last_refresh >= known._last_notification

    await until(is_current)


async def test_a_revoked_key_is_refused_without_a_notification(
    builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "POLL", FOR_EVER)
    monkeypatch.setattr(access, "VALID", 0.05)
    async with Access(NOWHERE, builder.repository) as known:
        assert await known.caller(SECRET)
        await revoke(builder)
        await asyncio.sleep(0.05)
        assert await known.caller(SECRET) is None


async def test_the_first_load_is_repeated_while_the_store_is_slow(
    builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh, timeouts = KeyLoader.refresh, [TimeoutError()] * 2

    async def slow(claims: KeyLoader) -> None:
        if timeouts:
            raise timeouts.pop()
        await refresh(claims)

    monkeypatch.setattr(KeyLoader, "refresh", slow)
    async with Access(NOWHERE, builder.repository) as known:
        assert await known.caller(SECRET)


async def test_a_fault_that_lasts_is_logged_once_a_minute(
    builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    async def refuse(_: KeyLoader) -> None:
        nonlocal attempts
        attempts += 1
        raise asyncpg.UndefinedTableError('relation "write_side.access" does not exist')

    async def is_repeated() -> bool:
        return attempts > 2

    monkeypatch.setattr(access, "POLL", 0.001)
    async with Access(NOWHERE, builder.repository):
        monkeypatch.setattr(KeyLoader, "refresh", refuse)
        with capture_logs() as logs:
            await until(is_repeated)
    assert [one["event"] for one in logs].count("keys cannot be loaded") == 1


async def test_the_first_load_fails_in_the_end(
    builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_slow(_: KeyLoader) -> None:
        raise TimeoutError

    monkeypatch.setattr(KeyLoader, "refresh", too_slow)
    monkeypatch.setattr(access, "STARTING", 0.0)
    with pytest.raises(StoreUnavailable, match="has not responded for 0 seconds"):
        await Access(NOWHERE, builder.repository).__aenter__()


@pytest.mark.usefixtures("no_periodic_refresh")
async def test_a_revoked_key_is_refused_after_a_notification(
    builder: ContentBuilder, database_url: str
) -> None:
    async with Access(database_url, builder.repository) as known:
        await wait_until_current(known)
        assert await known.caller(SECRET)
        await revoke(builder)

        async def refused() -> bool:
            return await known.caller(SECRET) is None

        await until(refused)


async def test_a_revoked_key_is_removed_without_a_request(
    builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "VALID", FOR_EVER)
    async with Access(NOWHERE, builder.repository) as known:
        await revoke(builder)

        async def gone() -> bool:
            return len(known._loader.keys._by_digest) == 0

        await until(gone)


@pytest.mark.usefixtures("no_periodic_refresh")
async def test_a_key_that_was_just_issued_is_valid(builder: ContentBuilder) -> None:
    async with Access(NOWHERE, builder.repository) as known:
        for n in range(5):
            await issue(builder, f"new {n}", f"a-secret-of-number-{n}")
            assert await known.caller(f"a-secret-of-number-{n}")


@pytest.mark.usefixtures("no_periodic_refresh")
async def test_a_known_key_is_found_in_memory(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Access(database_url, builder.repository) as known:
        await wait_until_current(known)
        with recorded_refreshes(monkeypatch) as refreshes:
            for _ in range(100):
                assert await known.caller(SECRET)
            assert refreshes == []


@pytest.mark.usefixtures("no_periodic_refresh")
async def test_every_refusal_does_the_same_work(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Access(database_url, builder.repository) as known:
        await wait_until_current(known)
        await revoke(builder)

        async def refused() -> bool:
            return await known.caller(SECRET) is None

        await until(refused)
        work: list[str] = []
        fetch, sha256, compare = known._fetch, hashlib.sha256, Keys.caller

        def recorded(what: str, function: Any) -> Any:
            def record(*args: Any) -> Any:
                work.append(f"{what} {args[0]}" if what == "loaded" else what)
                return function(*args)

            return record

        monkeypatch.setattr(known._loader, "_fetch", recorded("loaded", fetch))
        monkeypatch.setattr(hashlib, "sha256", recorded("hashed", sha256))
        monkeypatch.setattr(Keys, "caller", recorded("compared", compare))
        done = []
        for secret in ("", "unknown", "unknown", SECRET, "another unknown"):
            assert await known.caller(secret) is None
            done.append(work[:])
            work.clear()
        assert [what.split()[0] for what in done[0]] == ["hashed", "compared", "loaded", "compared"]
        assert all(one == done[0] for one in done)


@pytest.mark.usefixtures("no_periodic_refresh")
async def test_many_invalid_keys_cause_few_refreshes(
    builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Access(NOWHERE, builder.repository) as known:
        with recorded_refreshes(monkeypatch) as refreshes:
            flood = [known.caller(f"made up {n}") for n in range(500)]
            assert not any(await asyncio.gather(*flood))
            assert len(refreshes) == 1

            async def one_after_another(name: str) -> None:
                for n in range(3):
                    assert await known.caller(f"{name}{n}") is None

            await asyncio.gather(*(one_after_another(name) for name in "abcdefgh"))
            pauses = [later - sooner for sooner, later in pairwise(refreshes)]
            assert min(pauses) >= access.PACE * 0.9
            assert await known.caller(SECRET)


@pytest.mark.usefixtures("no_periodic_refresh")
async def test_a_cancelled_request_does_not_cancel_the_refresh_of_others(
    builder: ContentBuilder,
) -> None:
    async with Access(NOWHERE, builder.repository) as known:
        await issue(builder, "new", "a-secret-of-the-new-one")
        waiting = [
            asyncio.create_task(known.caller("a-secret-of-the-new-one")),
            asyncio.create_task(known.caller("a-secret-of-the-new-one")),
        ]
        await asyncio.sleep(0)
        waiting[0].cancel()
        assert await waiting[1]


class TestStoreAway:
    async def test_known_keys_are_served_without_waiting(
        self, builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(access, "VALID", 0.0)
        monkeypatch.setattr(access, "POLL", FOR_EVER)
        async with Access(NOWHERE, builder.repository) as known:
            make_store_unavailable(builder, monkeypatch)
            with recorded_refreshes(monkeypatch) as refreshes:
                for _ in range(20):
                    assert all(await asyncio.gather(*(known.caller(SECRET) for _ in range(10))))
                    assert await known.caller("") is None
                    with pytest.raises(StoreUnavailable):
                        await known.caller("unknown, or issued a moment ago")
                assert len(refreshes) == 1

    async def test_revoked_keys_are_refused_when_the_store_is_back(
        self, builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with Access(NOWHERE, builder.repository) as known:
            await revoke(builder)
            with monkeypatch.context() as patch:
                make_store_unavailable(builder, patch)

                async def noticed() -> bool:
                    return known._away

                await until(noticed)
                assert await known.caller(SECRET)

            async def refused() -> bool:
                return await known.caller(SECRET) is None

            await until(refused)

    async def test_a_dead_connection_is_replaced(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        async with Access(database_url, builder.repository) as known:
            await wait_until_current(known)
            dead = known._connection
            assert dead is not None
            dead.terminate()
            await revoke(builder)

            async def listens_again() -> bool:
                return known._connection not in (None, dead)

            await until(listens_again)
            await wait_until_current(known)
            assert await known.caller(SECRET) is None

    async def test_a_silently_dead_connection_keeps_no_revoked_key_valid(
        self, builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(access, "POLL", FOR_EVER)
        monkeypatch.setattr(access, "VALID", 0.0)
        async with proxy_to(database_url) as proxy, Access(proxy.url, builder.repository) as known:
            await wait_until_current(known)
            monkeypatch.setattr(access, "PATIENCE", 1.0)
            proxy.go_dumb("answer")
            await revoke(builder)
            assert await known.caller(SECRET) is None

    async def test_a_service_does_not_start_without_its_keys(
        self, builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_store_unavailable(builder, monkeypatch)
        with pytest.raises(StoreUnavailable):
            async with Access(NOWHERE, builder.repository):
                raise AssertionError("it has started")


class Clock:
    """A monotonic clock that only tests advance."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.usefixtures("no_periodic_refresh")
class TestTrust:
    async def test_without_the_store_known_keys_are_valid_for_five_minutes(
        self, builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock()
        monkeypatch.setattr(access, "VALID", 0.0)
        async with Access(NOWHERE, builder.repository, clock) as known:
            with monkeypatch.context() as patch:
                make_store_unavailable(builder, patch)
                clock.now += access.TRUST
                assert await known.caller(SECRET)
                assert known.cached_caller(SECRET)
                clock.now += 1
                for secret in (SECRET, "unknown"):
                    with pytest.raises(KeysUnavailable):
                        await known.caller(secret)
                with pytest.raises(KeysUnavailable):
                    await known.caller_of_key("the key of a session")
                assert await known.caller("") is None
                assert known.cached_caller(SECRET) is None
            await known._next_refresh()
            assert await known.caller(SECRET)

    async def test_after_five_minutes_without_a_request_one_refresh_is_sufficient(
        self, builder: ContentBuilder
    ) -> None:
        clock = Clock()
        async with Access(NOWHERE, builder.repository, clock) as known:
            clock.now += 10 * FOR_EVER
            assert await known.caller(SECRET)


@pytest.mark.usefixtures("no_periodic_refresh")
class TestExpiry:
    async def test_a_key_expires_by_the_clock_of_the_store(
        self, builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between refreshes, this process's monotonic clock advances the store's time."""
        clock = Clock()
        until = datetime(2100, 1, 1, tzinfo=UTC)
        await issue(builder, "brief", "a-secret-that-expires", expires_at=until)
        async with Access(NOWHERE, builder.repository, clock) as known:
            assert await known.caller("a-secret-that-expires")
            left = (until - known.store_time()).total_seconds()
            make_store_unavailable(builder, monkeypatch)
            monkeypatch.setattr(access, "TRUST", 10 * left)
            clock.now += left - 1
            assert known.cached_caller("a-secret-that-expires")
            clock.now += 1
            assert known.cached_caller("a-secret-that-expires") is None
            assert known.cached_caller(SECRET)

    async def test_an_expired_key_is_refused_like_an_unknown_one(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await follow_clock(database_url)
        soon = store_clock.Clock.time + timedelta(seconds=1)
        await issue(builder, "brief", "a-secret-that-expires", expires_at=soon)
        store_clock.Clock.time = soon
        async with Access(NOWHERE, builder.repository) as known:
            assert await known.caller("a-secret-that-expires") is None
            # The expiry may be extended.
            await builder.execute(
                c.PermitKey, workspace="acme", name="brief", permissions=("content.view",)
            )
            assert await known.caller("a-secret-that-expires")


async def test_the_day_of_the_last_use_is_written_once_by_all_processes(
    builder: ContentBuilder,
) -> None:
    fetch = builder.repository.recorder.fetch
    async with (
        Access(NOWHERE, builder.repository) as one,
        Access(NOWHERE, builder.repository) as two,
    ):
        [key] = await builder.repository.keys("acme")
        for known in (one, two, one):
            assert await known.caller(SECRET)
            assert await known.caller_of_key(key.id)
            assert await known.caller("unknown") is None
        assert await last_uses(fetch, [key.id]) == {}, "no request writes"
        await one._uses.write()
        today = one.store_time().date()
        assert await last_uses(fetch, [key.id]) == {key.id: today}
        [before] = await fetch("SELECT xmin::text, xmax::text FROM write_side.key_use")
    # On exit, both have written the uses they held.
    [after] = await fetch("SELECT xmin::text, xmax::text FROM write_side.key_use")
    assert dict(before) == dict(after), "the row was neither written nor locked again"
    assert await record_use(fetch, [key.id], today - timedelta(days=1)) == 0
    assert await record_use(fetch, [key.id], today + timedelta(days=1)) == 1
    assert await last_uses(fetch, [key.id]) == {key.id: today + timedelta(days=1)}


def make_store_unavailable(builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(*_: object) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(builder.repository.recorder, "fetch", fetch)
