"""The use of a key is written once a day and delays no request."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from api.auth.keys import KeyUses
from write_side.store.conflicts import StoreUnavailable

MONDAY, TUESDAY = date(2026, 6, 1), date(2026, 6, 2)


class Store:
    def __init__(self) -> None:
        self.writes: list[tuple[list[str], date]] = []
        self.away = False

    async def fetch(self, _statement: str, ids: list[str], day: date) -> list[Any]:
        if self.away:
            raise StoreUnavailable
        self.writes.append((list(ids), day))
        return []


@pytest.fixture
def store() -> Store:
    return Store()


async def test_a_key_is_written_once_a_day(store: Store) -> None:
    uses = KeyUses(store.fetch)
    for _ in range(3):
        for key in ("a", "b", "a"):
            uses.record(key, MONDAY)
        await uses.write()
    uses.record("a", TUESDAY)
    await uses.write()
    assert store.writes == [(["a", "b"], MONDAY), (["a"], TUESDAY)]


async def test_uses_of_two_days_keep_their_days(store: Store) -> None:
    uses = KeyUses(store.fetch)
    uses.record("a", MONDAY)
    uses.record("a", TUESDAY)
    await uses.write()
    assert store.writes == [(["a"], MONDAY), (["a"], TUESDAY)]


async def test_uses_that_cannot_be_written_wait(store: Store) -> None:
    uses = KeyUses(store.fetch)
    uses.record("a", MONDAY)
    store.away = True
    await uses.write()
    store.away = False
    uses.record("b", MONDAY)
    await uses.write()
    assert store.writes == [(["a", "b"], MONDAY)]


async def test_many_keys_are_written_in_parts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.auth.keys.AT_ONCE", 2)
    uses = KeyUses(store.fetch)
    for key in "abcde":
        uses.record(key, MONDAY)
    await uses.write()
    assert [ids for ids, _ in store.writes] == [["a", "b"], ["c", "d"], ["e"]]
