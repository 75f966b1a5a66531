"""The law of ADR 38, in a simulated machine: whatever the order in which commits, notices, polls,
reads, lost connections and rebuilds happen, no request is answered with less than was answered
before it began."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from read_side.freshness import Freshness, Poll
from read_side.notices import Notice, TypeChange
from read_side.seen import Seen, stamp_of

ENTRIES = [f"entry {n}" for n in range(4)]
STEPS = 1_500


class Database:
    """``versions``: the position of each entry's last change."""

    def __init__(self) -> None:
        self.epoch, self.position = 1, 0
        self.versions = dict.fromkeys(ENTRIES, 0)
        self.readers: list[Reader] = []

    @property
    def stamp(self) -> int:
        return stamp_of(self.epoch, self.position)

    def commit(self, entry: str) -> None:
        self.position += 1
        self.versions[entry] = self.position
        change = TypeChange("acme", "production", "posts", (), (entry,))
        self._notify(self.position - 1, (change,))

    def switch(self) -> None:
        self.epoch += 2
        self._notify(self.position, None)

    def _notify(self, after: int, changed: tuple[TypeChange, ...] | None) -> None:
        notice = Notice(epoch=self.epoch, after=after, position=self.position, changed=changed)
        for reader in self.readers:
            reader.notices.append(notice)


class Request(Struct):
    """``least``: the version that it must not go below; ``version`` and ``stamp`` of what was
    read; ``resets`` when that began."""

    entry: str
    least: int
    resets: int
    version: int | None = None
    stamp: int = 0


class Reader:
    """An API process."""

    def __init__(self, database: Database, seen: Seen, clock: Callable[[], float]) -> None:
        self.database, self._seen = database, seen
        self.freshness = Freshness(seen, clock)
        self.notices: list[Notice] = []
        self.poll: tuple[Poll, int] | None = None
        self.requests: list[Request] = []
        self.kept: dict[str, tuple[int, int]] = {}
        self.kept_since = -1
        self.hits = 0

    def step(self, chance: random.Random, answered: dict[str, int]) -> None:
        steps: dict[Callable[[], None], float] = {
            self.deliver: 8,
            self.begin_poll: 2,
            self.end_poll: 4,
            self.connect_again: 0.05,
            self.read: 6,
            lambda: self.begin_request(chance.choice(ENTRIES), answered): 10,
            lambda: self.finish(chance, answered): 8,
        }
        [chosen] = chance.choices([*steps], [*steps.values()])
        chosen()

    def deliver(self) -> None:
        if self.notices:
            self.freshness.on_notice(self.notices.pop(0))

    def begin_poll(self) -> None:
        if self.poll is None:
            self.poll = (self.freshness.begin_poll(), self.database.stamp)

    def end_poll(self) -> None:
        if self.poll is not None:
            self.freshness.end_poll(*self.poll)
            self.poll = None

    def connect_again(self) -> None:
        self.notices, self.poll = [], None
        self.freshness.reset()

    def begin_request(self, entry: str, answered: dict[str, int]) -> None:
        if self.kept_since != self.freshness.resets:
            self.kept, self.kept_since = {}, self.freshness.resets
        stamp, version = self.kept.get(entry, (0, 0))
        if entry in self.kept and self.freshness.is_current(stamp, (entry,)):
            assert version >= answered[entry]
            self.hits += 1
            return
        self.requests.append(Request(entry, answered[entry], self.freshness.resets))

    def read(self) -> None:
        """The statement takes its snapshot."""
        for request in self.requests:
            if request.version is None:
                request.version = self.database.versions[request.entry]
                request.stamp = self.database.stamp
                return

    def finish(self, chance: random.Random, answered: dict[str, int]) -> None:
        done = [request for request in self.requests if request.version is not None]
        if not done:
            return
        request = chance.choice(done)
        self.requests.remove(request)
        assert request.version is not None
        self._seen.raise_to(request.stamp)
        if self.kept_since != self.freshness.resets:
            self.kept, self.kept_since = {}, self.freshness.resets
        if self.freshness.may_keep(request.stamp, request.resets):
            self.kept[request.entry] = (request.stamp, request.version)
        assert request.version >= request.least
        answered[request.entry] = max(answered[request.entry], request.version)


def simulate(seed: int, folder: Path) -> int:
    """How many requests were answered from memory. Raises AssertionError at the first that was
    answered with less than another before it."""
    chance, now = random.Random(seed), 0.0
    database, answered = Database(), dict.fromkeys(ENTRIES, 0)
    database.readers = [Reader(database, Seen(folder / str(seed)), lambda: now) for _ in range(3)]
    for _ in range(STEPS):
        now += chance.expovariate(500)
        what = chance.random()
        if what < 0.05:
            database.commit(chance.choice(ENTRIES))
        elif what < 0.052:
            database.switch()
        else:
            chance.choice(database.readers).step(chance, answered)
    return sum(reader.hits for reader in database.readers)


def simulate_all(folder: Path) -> int:
    return sum(simulate(seed, folder) for seed in range(60))


def test_no_request_is_answered_with_less_than_was_answered_before(tmp_path: Path) -> None:
    assert simulate_all(tmp_path) > 1_000, "kept reads are used"


@pytest.mark.parametrize("broken", ["seen", "changed", "resets"])
def test_the_law_needs_each_part_of_the_rule(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, some order of events breaks the law."""
    without: dict[str, tuple[str, Callable[..., bool]]] = {
        "seen": ("is_current", is_unchanged),
        "changed": ("is_current", lambda one, *_: one._applied >= one._seen.stamp),
        "resets": ("may_keep", lambda *_: True),
    }
    monkeypatch.setattr(Freshness, *without[broken])
    with pytest.raises(AssertionError):
        simulate_all(tmp_path)


def is_unchanged(freshness: Freshness, stamp: int, dependencies: tuple[str, ...]) -> bool:
    """``is_current`` without ``seen``."""
    return all(freshness._changed.get(one, -1) <= stamp for one in dependencies)
