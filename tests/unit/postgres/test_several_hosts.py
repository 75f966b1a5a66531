"""Connections with a URL that names several hosts."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from write_side.postgres.connection import connect, urls_of_hosts

URL = "postgresql://role:secret@a:5432,b:5433,c/content?target_session_attrs=any"
A, B, C = (
    f"postgresql://role:secret@{host}/content?target_session_attrs=any"
    for host in ("a:5432", "b:5433", "c")
)


class Opened:
    """A connection whose server process matches its backend PID, so it has no pooler."""

    def __init__(self) -> None:
        self.terminated = False

    async def prepare(self, *_: object, **__: object) -> Opened:
        return self

    async def fetchval(self, **_: object) -> int:
        return 1

    def get_server_pid(self) -> int:
        return 1

    def terminate(self) -> None:
        self.terminated = True


class Hosts:
    """Simulates the response of each URL: a connection, an error or none. A list holds the
    responses of successive attempts."""

    def __init__(self, **answers: Any) -> None:
        self._answers = {A: answers.get("a"), B: answers.get("b"), C: answers.get("c")}
        self.cancelled: list[str] = []

    async def connect(self, url: str, **_options: Any) -> Any:
        answer = self._answers[url]
        if isinstance(answer, list):
            answer = answer.pop(0)
        try:
            await asyncio.sleep(0 if answer else 60)
        except asyncio.CancelledError:
            self.cancelled.append(url)
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer


def hosts(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> Hosts:
    found = Hosts(**answers)
    monkeypatch.setattr("asyncpg.connect", found.connect)
    return found


def test_a_url_of_several_hosts_is_one_for_each() -> None:
    assert urls_of_hosts(URL) == [A, B, C]
    assert urls_of_hosts(A) == [A]
    assert len(urls_of_hosts("postgresql:///content?host=/run")) == 1


async def test_a_frozen_host_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened()
    found = hosts(monkeypatch, b=OSError("refused"), c=opened)
    async with asyncio.timeout(30):
        assert await connect(URL) is opened  # type: ignore[comparison-overlap]
    await asyncio.sleep(0)
    assert found.cancelled == [A]
    assert not opened.terminated


async def test_a_standby_is_asked_again_while_another_host_is_frozen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    promoted = Opened()
    standby = asyncpg.TargetServerAttributeNotMatched("a standby")
    found = hosts(monkeypatch, b=[standby, promoted], c=OSError("refused"))
    async with asyncio.timeout(30):
        used: Any = await connect(URL)
    assert used is promoted
    await asyncio.sleep(0)
    assert A in found.cancelled


async def test_of_two_that_accept_one_is_used_and_the_other_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = [Opened(), Opened()]
    hosts(monkeypatch, a=both[0], b=both[1])
    used: Any = await connect(URL)
    await asyncio.sleep(0)
    assert used in both
    assert [one.terminated for one in both] == [one is not used for one in both]


async def test_without_a_host_the_reason_of_one_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {name: OSError(f"refused by {name}") for name in "abc"}
    hosts(monkeypatch, **reasons)
    with pytest.raises(OSError, match="refused by c"):
        await connect(URL)


async def test_a_wrong_password_is_not_taken_for_a_host_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts(monkeypatch, a=asyncpg.InvalidPasswordError("wrong"))
    with pytest.raises(asyncpg.InvalidPasswordError):
        await connect(URL)
