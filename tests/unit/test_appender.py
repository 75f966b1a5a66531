"""Which appends are sent in one call, and how each gets its result."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from eventsourcing.persistence import StoredEvent
from msgspec.structs import replace

from tests.unit.samples import type_created
from write_side.domain.content_type import evolve
from write_side.domain.identity import Scope, slug_hash
from write_side.store.append import (
    Append,
    Appended,
    EntryClaim,
    Use,
    outcomes,
    parameters,
)
from write_side.store.appender import MAX_BYTES, MAX_COMMANDS, Appender, _together
from write_side.store.appender import _Waiting as Waiting
from write_side.store.conflicts import (
    ContentTypeConflict,
    IdConflict,
    KeyConflict,
    LimitConflict,
    SlugConflict,
    StaleAppend,
    StoreUnavailable,
    conflict,
)

SCOPE = Scope("acme", "production")


def _append(stream: str, *, n: int = 1, state: bytes = b"{}", **changes: Any) -> Append:
    events = [StoredEvent(stream, version, "t", state) for version in range(1, n + 1)]
    return Append(events=events, **changes)


def _claim(entry_id: str, slug: str, **changes: Any) -> EntryClaim:
    return replace(EntryClaim(entry_id, SCOPE, "type", "en-US", slug), **changes)


def _create(entry_id: str, slug: str, **changes: Any) -> Append:
    return _append(
        f"entry/{entry_id}",
        claims=[_claim(entry_id, slug, **changes)],
        uses=[Use(SCOPE, "entries", 1)],
    )


async def together(*appends: Append) -> list[int]:
    """Returns the indexes of the appends that go in the first call."""
    waiting = [Waiting(append) for append in appends]
    return [waiting.index(one) for one in _together(waiting)]


# Together


async def test_appends_that_have_nothing_in_common_go_together() -> None:
    assert await together(_append("a"), _create("1", "x"), _append("b"), _create("2", "y")) == [
        *range(4)
    ]


async def test_appends_to_one_stream_go_one_after_the_other() -> None:
    assert await together(_append("a"), _append("b"), _append("a"), _append("c")) == [0, 1, 3]


async def test_no_append_overtakes_a_postponed_one() -> None:
    """The third append waits for the first. The fourth waits for the third, although it could go
    with the first."""
    both = Append(events=[*_append("a").events, *_append("b").events])
    assert await together(_append("a"), _append("c"), both, _append("b")) == [0, 1]


async def test_appends_under_one_command_key_go_one_after_the_other() -> None:
    one, other = _append("a", command_key="k"), _append("b", command_key="k")
    assert await together(one, other) == [0]


async def test_claims_of_one_slug_go_one_after_the_other() -> None:
    assert await together(_create("1", "x"), _create("2", "x")) == [0]


@pytest.mark.parametrize(
    "other",
    [
        {"language": "fr-FR"},
        {"content_type_id": "other"},
        {"scope": Scope("acme", "staging")},
        {"scope": Scope("beta", "production")},
    ],
)
async def test_the_same_slug_in_another_scope_does_not_conflict(other: dict[str, Any]) -> None:
    assert await together(_create("1", "x"), _create("2", "x", **other)) == [0, 1]


async def test_claims_of_one_id_go_one_after_the_other() -> None:
    append = _append("other", claims=[_claim("1", "y")])
    assert await together(_create("1", "x"), append) == [0]


@pytest.mark.parametrize(
    "large",
    [
        _append("a", changes={"access": True}),
        _append("a", n=51),
        _append("a", claims=[_claim("1", "x"), _claim("2", "y")]),
        _append("a", uses=[Use(SCOPE, "entries", 1), Use(SCOPE, "content_types", 1)]),
    ],
    ids=["changes", "events", "claims", "uses"],
)
async def test_appends_that_are_hard_to_undo_go_alone(large: Append) -> None:
    assert not large.coalescable
    assert await together(large, _append("b")) == [0]
    assert await together(_append("b"), large, _append("c"), _append("a")) == [0, 2]


async def test_a_call_is_limited_in_commands() -> None:
    appends = [_append(f"a{n}") for n in range(MAX_COMMANDS + 10)]
    assert await together(*appends) == list(range(MAX_COMMANDS))


async def test_a_call_is_limited_in_bytes() -> None:
    third = b" " * (MAX_BYTES // 3)
    assert await together(*(_append(f"a{n}", state=third) for n in range(5))) == [0, 1, 2]


async def test_an_append_larger_than_the_limit_goes_alone() -> None:
    large = _append("a", state=b" " * (MAX_BYTES + 1))
    assert await together(large, _append("b")) == [0]
    assert await together(_append("b"), large) == [0]


# Outcomes

AT = datetime(1970, 1, 2, 0, 0, 0, 1000, tzinfo=UTC)


def test_commands_follow_the_first_position_in_order() -> None:
    appends = [_append("a", n=2), _append("b"), _append("c", n=3)]
    assert outcomes(appends, [(None, "first", "11:86400001")]) == [
        Appended(11, 2, AT),
        Appended(13, 1, AT),
        Appended(14, 3, AT),
    ]
    assert Appended(14, 3, AT).last == 16


def test_commands_that_were_not_appended_take_no_position() -> None:
    appends = [_append(name, n=2) for name in "abcdefg"]
    rows = [
        (1, "stale", ""),
        (3, "slug_taken", "1"),
        (4, "replayed", "5:9:86400001:c0ffee"),
        (6, "plan_limit", "entries:3"),
        (7, "id_taken", "1"),
        (None, "first", "100:86400001"),
    ]
    stale, first, slug, replayed, second, limit, same_id = outcomes(appends, rows)
    assert (first, second) == (Appended(100, 2, AT), Appended(102, 2, AT))
    assert replayed == Appended(5, 9, AT, replayed=True, digest=bytes.fromhex("c0ffee"))
    assert isinstance(stale, StaleAppend)
    assert isinstance(slug, SlugConflict)
    assert isinstance(same_id, IdConflict)
    assert isinstance(limit, LimitConflict)
    assert (limit.quota, limit.bound) == ("entries", 3)


def test_call_in_which_nothing_is_appended_has_no_first_position() -> None:
    found = outcomes(
        [_append("a"), _append("b")], [(2, "stale", ""), (1, "replayed", "7:1:86400001:")]
    )
    assert found[0] == Appended(7, 1, AT, replayed=True)
    assert isinstance(found[1], StaleAppend)


def test_a_result_without_an_outcome_is_never_a_success() -> None:
    with pytest.raises(AssertionError, match="returned no outcome"):
        outcomes([_append("a"), _append("b")], [(1, "stale", "")])


def test_conflicts_have_the_details_that_callers_need() -> None:
    many = conflict("slug_taken", "12")
    assert isinstance(many, SlugConflict)
    assert many.claim == 11
    rename = conflict("slug_taken", "")
    assert isinstance(rename, SlugConflict)
    assert rename.claim == 0
    assert isinstance(conflict("key_taken", ""), KeyConflict)
    assert isinstance(conflict("content_type_taken", ""), ContentTypeConflict)


# Parameters


def test_parameters_name_the_command_of_each_row() -> None:
    content_type = replace(evolve(None, type_created(content_type_id="type")), version=4)
    create = replace(_create("1", "x"), type_checks=[content_type])
    appends = [_append("a", n=2), create, _append("b")]
    _, commands, claims, checks, uses, changes, events, batch = parameters(appends)
    assert commands == [
        (append.command_key, b"", stream, 1, n)
        for append, stream, n in zip(appends, ("a", "entry/1", "b"), (2, 1, 1), strict=True)
    ]
    assert claims == [
        (2, "1", "acme", "production", "type", "en-US", slug_hash(create.claims[0].slug))
    ]
    assert checks == [(2, "type", 4)]
    assert uses == [(2, "acme", "production", "entries", 1)]
    assert events == [
        (1, "a", 1, "t", "{}"),
        (1, "a", 2, "t", "{}"),
        (2, "entry/1", 1, "t", "{}"),
        (3, "b", 1, "t", "{}"),
    ]
    assert (changes, batch) == (None, None)


def test_states_of_staged_events_are_omitted() -> None:
    *_, events, batch = parameters([_append("a")], batch="b1")
    assert (events, batch) == ([(1, "a", 1, "t", None)], "b1")


def test_streams_are_checked_if_one_continues_or_on_request() -> None:
    assert parameters([_append("a"), _append("b")])[0] is False
    assert parameters([_append("a"), _append("b", n=2)])[0] is True
    assert parameters([_append("a")], check_streams=True)[0] is True


# An appender that cannot connect


async def _never() -> Any:
    raise ConnectionRefusedError("nobody there")


async def test_an_appender_without_a_server_fails_after_its_timeout() -> None:
    appender = Appender(_never, patience=0.02)
    with pytest.raises(StoreUnavailable, match="nobody there"):
        await appender.append(_append("a"))
    await appender.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await appender.append(_append("a"))


async def test_an_internal_error_reaches_each_caller_and_keeps_the_appender() -> None:
    class Fault(Exception):
        """An error that no retry can resolve."""

    async def broken() -> Any:
        raise Fault

    appender = Appender(broken, patience=1)
    for _ in range(2):
        found = await asyncio.gather(
            *(appender.append(_append(f"a{n}")) for n in range(3)), return_exceptions=True
        )
        assert [type(outcome) for outcome in found] == [Fault] * 3
    await appender.close()
