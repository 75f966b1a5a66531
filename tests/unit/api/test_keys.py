"""Keys in memory: found by digest, and removed when revoked."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from api.auth.keys import Keys
from write_side.domain.events import Plan
from write_side.domain.workspace import Workspace, secret_hash
from write_side.store.access import KeyClaim

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def key(key_id: str, secret: str, *names: str) -> KeyClaim:
    return KeyClaim(key_id, "acme", f"key {key_id}", secret_hash(secret), frozenset(names))


@pytest.fixture
def keys() -> Keys:
    keys = Keys()
    place(keys)
    return keys


def place(keys: Keys, *environments: str, **plan: Any) -> None:
    keys.put_workspace(
        Workspace(
            slug="acme",
            name="Acme",
            plan=Plan(**plan),
            environments=("production", *environments),
            version=1,
        )
    )


def test_a_key_is_found_by_its_digest_with_what_its_workspace_may_do(keys: Keys) -> None:
    keys.put(key("1", "a", "content.view"))
    place(keys, "staging", entries=7)
    caller = keys.caller(secret_hash("a"), NOON)
    assert caller is not None
    assert (caller.key_id, caller.key_name, caller.workspace) == ("1", "key 1", "acme")
    assert caller.permissions == {"content.view"}
    assert (caller.plan.entries, caller.environments) == (7, ("production", "staging"))
    assert keys.caller(secret_hash("b"), NOON) is None


def test_a_change_of_permissions_replaces_the_old_ones(keys: Keys) -> None:
    for names in (("content.view",), ("content.view", "content.edit")):
        keys.put(key("1", "a", *names))
        caller = keys.caller(secret_hash("a"), NOON)
        assert caller is not None
        assert caller.permissions == set(names)
    assert len(keys._by_digest) == 1


@pytest.mark.parametrize("old_goes_first", [True, False])
def test_a_secret_may_be_used_again_after_its_key_is_revoked(
    keys: Keys, old_goes_first: bool
) -> None:
    """The order in which the two changes are read does not matter."""
    keys.put(key("old", "a"))
    if old_goes_first:
        keys.remove("old")
        assert keys.caller(secret_hash("a"), NOON) is None
    keys.put(key("new", "a"))
    if not old_goes_first:
        keys.remove("old")
    caller = keys.caller(secret_hash("a"), NOON)
    assert caller is not None
    assert caller.key_id == "new"
    keys.remove("new")
    keys.remove("old")
    assert keys.caller(secret_hash("a"), NOON) is None
    assert len(keys._by_digest) == 0


def test_a_key_works_until_it_expires(keys: Keys) -> None:
    keys.put(replace(key("1", "a"), expires_at=NOON))
    assert keys.caller(secret_hash("a"), NOON - timedelta(microseconds=1)) is not None
    assert keys.caller(secret_hash("a"), NOON) is None
    keys.put(key("1", "a"))
    assert keys.caller(secret_hash("a"), NOON) is not None


def test_an_unknown_key_is_compared_like_a_known_one(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def compare(one: str, other: str) -> bool:
        compared.append(len(one) + len(other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    keys.put(key("1", "a"))
    for secret in ("a", "b", ""):
        keys.caller(secret_hash(secret), NOON)
    assert compared == [128, 128, 128]
