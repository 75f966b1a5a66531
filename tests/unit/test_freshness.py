"""The rules for using cached responses, with a clock set by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from read_side.changes import ChangeRecord
from read_side.freshness import FRESH, MOST_CHANGES, Freshness
from read_side.high_water_mark import HighWaterMark
from read_side.notices import (
    MOST_BYTES,
    MOST_FED,
    FedChange,
    Notice,
    TypeChange,
    decode_notice,
    media_library,
)
from read_side.stamp import epoch_of, position_of, stamp_of
from write_side.domain.identity import Scope

EPOCH = 7


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Callable[[], Freshness]:
    """Creates the state of another process on the same machine."""
    return lambda: Freshness(HighWaterMark(tmp_path / "mark"), clock)


@pytest.fixture
def mark(tmp_path: Path) -> HighWaterMark:
    """The shared file, as any process sees it."""
    return HighWaterMark(tmp_path / "mark")


@pytest.fixture
def freshness(make: Callable[[], Freshness]) -> Freshness:
    """Has read everything up to position 10."""
    made = make()
    poll(made, 10)
    return made


def poll(freshness: Freshness, position: int, epoch: int = EPOCH) -> None:
    freshness.end_poll(freshness.begin_poll(), stamp_of(epoch, position))


def notice(
    after: int, position: int, *entries: str, epoch: int = EPOCH, everything: bool = False
) -> Notice:
    change = TypeChange("acme", "production", "posts", ("draft",), entries)
    changed = None if everything else (change,)
    return Notice(epoch=epoch, after=after, position=position, changed=changed)


def is_current(freshness: Freshness, position: int, *dependencies: str) -> bool:
    return freshness.is_current(stamp_of(EPOCH, position), dependencies)


def test_a_stamp_orders_checkpoints_by_epoch_then_by_position() -> None:
    assert stamp_of(1, 99) < stamp_of(2, 1) < stamp_of(2, 2)
    assert (epoch_of(stamp_of(3, 5)), position_of(stamp_of(3, 5))) == (3, 5)
    assert stamp_of(2**24 + 3, 5) == stamp_of(3, 5)


def test_an_unchanged_response_may_be_used(freshness: Freshness) -> None:
    assert is_current(freshness, 10, "a", "b")
    freshness.on_notice(notice(10, 12, "a"))
    assert is_current(freshness, 10, "b")
    assert not is_current(freshness, 10, "b", "a")
    assert is_current(freshness, 12, "a")


def test_nothing_is_used_that_is_older_than_what_another_process_has_shown(
    freshness: Freshness, mark: HighWaterMark
) -> None:
    mark.raise_to(stamp_of(EPOCH, 11))
    assert not is_current(freshness, 10, "b")
    freshness.on_notice(notice(10, 11, "a"))
    assert is_current(freshness, 10, "b")


def test_who_learns_of_a_checkpoint_raises_the_number(
    freshness: Freshness, mark: HighWaterMark
) -> None:
    assert mark.stamp == stamp_of(EPOCH, 10)
    freshness.on_notice(notice(10, 11))
    assert mark.stamp == stamp_of(EPOCH, 11)
    poll(freshness, 12)
    assert mark.stamp == stamp_of(EPOCH, 12)


def test_nothing_is_used_without_a_poll_within_a_second(freshness: Freshness, clock: Clock) -> None:
    began = freshness.begin_poll()
    clock.now += 0.7
    freshness.end_poll(began, stamp_of(EPOCH, 10))
    freshness.on_notice(notice(10, 11))
    assert is_current(freshness, 11)
    clock.now += FRESH - 0.7
    assert not is_current(freshness, 11), "a second after the poll began, not after it ended"


@pytest.mark.parametrize(
    "other",
    [
        notice(11, 12),
        notice(9, 11),
        notice(8, 9, epoch=EPOCH + 1),
        notice(10, 11, epoch=EPOCH + 1),
        notice(10, 11, epoch=EPOCH - 1),
        notice(10, 11, everything=True),
    ],
    ids=["gap", "overlap", "lower", "next epoch", "earlier epoch", "everything"],
)
def test_all_is_forgotten_after(other: Notice, freshness: Freshness) -> None:
    resets = freshness.resets
    freshness.on_notice(other)
    assert freshness.resets == resets + 1
    assert not freshness.may_keep(stamp_of(other.epoch, other.position), resets)
    assert freshness.may_keep(stamp_of(other.epoch, other.position), freshness.resets)
    assert not is_current(freshness, other.position), "not before a poll agrees"
    poll(freshness, other.position, other.epoch)
    assert freshness.resets == resets + 1 + (other.epoch < EPOCH)


def test_a_notice_that_a_poll_has_overtaken_changes_nothing(
    make: Callable[[], Freshness],
) -> None:
    freshness = make()
    poll(freshness, 12)
    resets = freshness.resets
    freshness.on_notice(notice(10, 11, "a"))
    freshness.on_notice(notice(11, 12, "a"))
    assert freshness.resets == resets
    assert is_current(freshness, 12, "a")


def test_a_notice_that_does_not_come_is_missed_at_the_next_poll(freshness: Freshness) -> None:
    resets = freshness.resets
    poll(freshness, 11)
    assert freshness.resets == resets, "it may be under way"
    assert not is_current(freshness, 10)
    poll(freshness, 11)
    assert freshness.resets == resets + 1
    assert is_current(freshness, 11)


def test_a_notice_that_comes_between_two_polls_is_not_missed(freshness: Freshness) -> None:
    resets = freshness.resets
    poll(freshness, 11)
    freshness.on_notice(notice(10, 11))
    poll(freshness, 12)
    freshness.on_notice(notice(11, 12))
    assert freshness.resets == resets
    assert is_current(freshness, 10)


def test_a_poll_that_a_notice_overtakes_takes_nothing_back(
    freshness: Freshness, mark: HighWaterMark
) -> None:
    began = freshness.begin_poll()
    freshness.on_notice(notice(10, 11))
    freshness.end_poll(began, stamp_of(EPOCH, 10))
    assert is_current(freshness, 11)
    began = freshness.begin_poll()
    freshness.on_notice(notice(11, 11, epoch=EPOCH + 2, everything=True))
    freshness.end_poll(began, stamp_of(EPOCH, 11))
    assert mark.stamp == stamp_of(EPOCH + 2, 11)
    assert freshness.may_keep(stamp_of(EPOCH + 2, 11), freshness.resets)


def test_a_database_that_was_set_back_lowers_the_number_once(
    make: Callable[[], Freshness], freshness: Freshness, mark: HighWaterMark
) -> None:
    other = make()
    poll(other, 10)
    slow, resets = other.begin_poll(), other.resets
    poll(freshness, 4)
    assert mark.stamp == stamp_of(EPOCH, 4)
    assert is_current(freshness, 4)
    freshness.on_notice(notice(4, 6))
    other.end_poll(slow, stamp_of(EPOCH, 5))
    assert mark.stamp == stamp_of(EPOCH, 6), "it has risen since"
    assert other.resets == resets + 1


def test_nothing_that_was_read_before_the_connection_was_lost_is_kept(
    freshness: Freshness,
) -> None:
    resets = freshness.resets
    freshness.reset()
    assert not is_current(freshness, 10)
    poll(freshness, 10)
    assert not freshness.may_keep(stamp_of(EPOCH, 10), resets)


def test_a_read_of_another_epoch_is_not_kept(freshness: Freshness) -> None:
    assert not freshness.may_keep(stamp_of(EPOCH + 1, 10), freshness.resets)


def test_the_number_of_remembered_changes_is_bounded(freshness: Freshness) -> None:
    resets = freshness.resets
    most = MOST_CHANGES - 2  # the type's two lists are remembered too
    for position in range(10, 10 + most):
        freshness.on_notice(notice(position, position + 1, f"entry {position}"))
    assert freshness.resets == resets
    for position in range(10 + most, 20 + most):
        freshness.on_notice(notice(position, position + 1, f"entry {position}"))
    assert freshness.resets == resets + 1
    assert len(freshness._changed) < 20


def test_without_a_shared_file_nothing_is_kept(clock: Clock) -> None:
    freshness = Freshness(HighWaterMark(), clock)
    poll(freshness, 10)
    assert not freshness.may_keep(stamp_of(EPOCH, 10), freshness.resets)


@pytest.mark.parametrize(
    ("types", "entries", "left"),
    [(1, 3, "entries"), (1, 5_000, "types"), (50, 100, "types"), (500, 1, "nothing")],
)
def test_a_notice_is_as_precise_as_fits(types: int, entries: int, left: str) -> None:
    changed = tuple(
        TypeChange("acme", "production", f"type-{n}", ("draft",), ("i" * 36,) * entries)
        for n in range(types)
    )
    encoded = Notice(epoch=1, after=2, position=3, changed=changed).encoded()
    assert len(encoded.encode()) <= MOST_BYTES
    changes = decode_notice(encoded).changed
    found = "nothing" if changes is None else "entries" if changes[0].entries else "types"
    assert found == left


def test_a_notice_first_leaves_out_the_changes_of_the_feed() -> None:
    """The feed's changes can be read again; the ids of entries cannot."""
    changed = (TypeChange("acme", "production", "posts", ("draft",), ("i" * 36,) * 100),)
    at = datetime(2026, 1, 31, tzinfo=UTC)
    names = ("posts", "e" * 36, "s" * 100, None, "en", "draft")
    record = ChangeRecord(3, "entry.updated", False, "t" * 36, *names, 1, at, "someone")
    notice = Notice(
        epoch=1,
        after=2,
        position=3,
        changed=changed,
        fed=(FedChange("acme", "production", record),) * MOST_FED,
    )
    decoded = decode_notice(notice.encoded())
    assert (decoded.changed, decoded.fed) == (changed, None)
    scope = Scope("acme", "production")
    assert decoded.environments() == {scope: None}
    assert notice.environments() == {scope: [record] * MOST_FED}


def test_a_notice_names_the_libraries_that_changed() -> None:
    notice = Notice(epoch=1, after=2, position=3, changed=(), media=("acme",))
    decoded = decode_notice(notice.encoded())
    assert decoded == notice
    assert list(decoded.dependencies()) == [media_library("acme")]


def test_a_notice_without_libraries_is_that_of_an_older_projector() -> None:
    assert decode_notice(b'{"epoch":1,"from":2,"to":3,"changed":[]}').media == ()


def test_a_read_that_was_ahead_of_what_was_announced_is_no_database_that_was_set_back() -> None:
    """On Citus, a worker may show a commit before it is announced (ADR 59)."""
    mark = HighWaterMark()
    freshness = Freshness(mark)
    poll(freshness, 5)
    mark.raise_to(stamp_of(EPOCH, 6))
    resets = freshness.resets
    freshness.end_poll(freshness.begin_poll(), stamp_of(EPOCH, 5), stamp_of(EPOCH, 6))
    assert mark.stamp == stamp_of(EPOCH, 6)
    assert freshness.resets == resets
    assert not freshness.is_current(stamp_of(EPOCH, 5), ()), "until the notice arrives"
    freshness.on_notice(Notice(epoch=EPOCH, after=5, position=6, changed=()))
    assert freshness.is_current(stamp_of(EPOCH, 5), ())


def test_a_coordinator_that_was_set_back_is_noticed() -> None:
    mark = HighWaterMark()
    freshness = Freshness(mark)
    poll(freshness, 5)
    mark.raise_to(stamp_of(EPOCH, 8))
    freshness.end_poll(freshness.begin_poll(), stamp_of(EPOCH, 5), stamp_of(EPOCH, 7))
    assert mark.stamp == stamp_of(EPOCH, 5)
