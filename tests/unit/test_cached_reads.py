"""Checks the guarantee of ADR 38 and ADR 52 in a simulation: no response is older than one sent
before its request began. This holds for any order of commits, notices, polls, reads, lost
connections and rebuilds, and for replicas that lag or are ahead."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from read_side.freshness import Freshness, Poll
from read_side.high_water_mark import HighWaterMark
from read_side.notices import Notice, TypeChange
from read_side.stamp import stamp_of

ENTRIES = [f"entry {n}" for n in range(4)]
STEPS = 1_500


class State(Struct, frozen=True):
    """A state of the read model. ``versions`` holds the position of each entry's last change."""

    notice: Notice
    versions: dict[str, int]

    @property
    def stamp(self) -> int:
        return stamp_of(self.notice.epoch, self.notice.position)


class Database:
    """Holds all states written so far; reads see the state ``shown``. A replica may be at any
    state."""

    def __init__(self) -> None:
        beginning = Notice(epoch=1, after=0, position=0)
        self.states = [State(beginning, dict.fromkeys(ENTRIES, 0))]
        self.shown = 0
        self.replica = 0
        self.readers: list[Reader] = []

    @property
    def now(self) -> State:
        return self.states[self.shown]

    def commit(self, entry: str) -> None:
        last = self.states[-1]
        position = last.notice.position + 1
        change = TypeChange("acme", "production", "posts", (), (entry,))
        notice = Notice(
            epoch=last.notice.epoch, after=position - 1, position=position, changed=(change,)
        )
        self.states.append(State(notice, {**last.versions, entry: position}))

    def switch(self) -> None:
        epoch, position = self.states[-1].notice.epoch + 2, self.states[-1].notice.position
        notice = Notice(epoch=epoch, after=position, position=position)
        self.states.append(State(notice, self.states[-1].versions))

    def show(self) -> None:
        if self.shown < len(self.states) - 1:
            self.shown += 1
            for reader in self.readers:
                reader.notices.append(self.now.notice)

    def replicate(self) -> None:
        self.replica = min(self.replica + 1, len(self.states) - 1)


class Request(Struct):
    """``least`` is the oldest version that may be returned, ``resets`` the number of resets at the
    start, ``read`` the state that was read, and ``of_replica`` whether a replica serves it."""

    entry: str
    least: int
    resets: int
    of_replica: bool
    read: State | None = None


class Reader:
    """An API process."""

    def __init__(self, database: Database, mark: HighWaterMark, clock: Callable[[], float]) -> None:
        self.database, self._mark = database, mark
        self.freshness = Freshness(mark, clock)
        self.notices: list[Notice] = []
        self.poll: tuple[Poll, int] | None = None
        self.requests: list[Request] = []
        self.cached: dict[str, tuple[int, int]] = {}
        self.cached_since = -1
        self.hits = self.of_replica = 0

    def step(self, rng: random.Random, answered: dict[str, int]) -> None:
        steps: dict[Callable[[], None], float] = {
            self.deliver: 8,
            self.begin_poll: 2,
            self.end_poll: 4,
            self.connect_again: 0.05,
            self.read: 6,
            lambda: self.begin_request(rng, answered): 10,
            lambda: self.finish(rng, answered): 8,
        }
        [chosen] = rng.choices([*steps], [*steps.values()])
        chosen()

    def deliver(self) -> None:
        if self.notices:
            self.freshness.on_notice(self.notices.pop(0))

    def begin_poll(self) -> None:
        if self.poll is None:
            self.poll = (self.freshness.begin_poll(), self.database.now.stamp)

    def end_poll(self) -> None:
        if self.poll is not None:
            self.freshness.end_poll(*self.poll)
            self.poll = None

    def connect_again(self) -> None:
        self.notices, self.poll = [], None
        self.freshness.reset()

    def begin_request(self, rng: random.Random, answered: dict[str, int]) -> None:
        entry = rng.choice(ENTRIES)
        if self.cached_since != self.freshness.resets:
            self.cached, self.cached_since = {}, self.freshness.resets
        stamp, version = self.cached.get(entry, (0, 0))
        if entry in self.cached and self.freshness.is_current(stamp, (entry,)):
            assert version >= answered[entry]
            self.hits += 1
            return
        of_replica = rng.random() < 0.5
        self.requests.append(Request(entry, answered[entry], self.freshness.resets, of_replica))

    def read(self) -> None:
        """Takes the statement's snapshot."""
        database = self.database
        for request in self.requests:
            if request.read is None:
                shown = database.replica if request.of_replica else database.shown
                request.read = database.states[shown]
                return

    def finish(self, rng: random.Random, answered: dict[str, int]) -> None:
        done = [request for request in self.requests if request.read is not None]
        if not done:
            return
        request = rng.choice(done)
        assert request.read is not None
        stamp, version = request.read.stamp, request.read.versions[request.entry]
        if request.of_replica:
            if not self.freshness.may_use(stamp, stamp, (request.entry,)):
                request.of_replica, request.read = False, None
                return
            self.of_replica += 1
        else:
            self._mark.raise_to(stamp)
        self.requests.remove(request)
        if self.cached_since != self.freshness.resets:
            self.cached, self.cached_since = {}, self.freshness.resets
        if self.freshness.may_keep(stamp, request.resets):
            self.cached[request.entry] = (stamp, version)
        assert version >= request.least
        answered[request.entry] = max(answered[request.entry], version)


def simulate(seed: int, folder: Path) -> tuple[int, int]:
    """Returns how many requests were served from memory and by a replica. Raises AssertionError if
    a response is older than one sent before its request began."""
    rng, now = random.Random(seed), 0.0
    database, answered = Database(), dict.fromkeys(ENTRIES, 0)
    database.readers = [
        Reader(database, HighWaterMark(folder / str(seed)), lambda: now) for _ in range(3)
    ]
    for _ in range(STEPS):
        now += rng.expovariate(500)
        what = rng.random()
        if what < 0.03:
            database.commit(rng.choice(ENTRIES))
        elif what < 0.032:
            database.switch()
        elif what < 0.1:
            database.show()
        elif what < 0.14:
            database.replicate()
        else:
            rng.choice(database.readers).step(rng, answered)
    hits = sum(reader.hits for reader in database.readers)
    return hits, sum(reader.of_replica for reader in database.readers)


def simulate_all(folder: Path) -> tuple[int, ...]:
    counts = zip(*(simulate(seed, folder) for seed in range(60)), strict=True)
    return tuple(map(sum, counts))


def test_no_request_is_answered_with_less_than_was_answered_before(tmp_path: Path) -> None:
    hits, of_replica = simulate_all(tmp_path)
    assert hits > 1_000, "cached reads are used"
    assert of_replica > 1_000, "reads of the replica are used"


@pytest.mark.parametrize("broken", ["mark", "changed", "resets", "replica", "floor", "ahead"])
def test_the_law_needs_each_part_of_the_rule(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a part is missing, some order of events breaks the guarantee."""
    without: dict[str, tuple[str, Callable[..., bool]]] = {
        "mark": ("is_current", is_unchanged),
        "changed": ("is_current", lambda one, *_: one.applied >= one._mark.stamp),
        "resets": ("may_keep", lambda *_: True),
        "replica": ("may_use", lambda *_: True),
        "floor": (
            "may_use",
            lambda one, stamp, latest, entries: (
                latest <= one.applied and one.is_current(stamp, entries)
            ),
        ),
        "ahead": (
            "may_use",
            lambda one, stamp, _, entries: one._floor <= stamp and one.is_current(stamp, entries),
        ),
    }
    monkeypatch.setattr(Freshness, *without[broken])
    with pytest.raises(AssertionError):
        simulate_all(tmp_path)


def is_unchanged(freshness: Freshness, stamp: int, dependencies: tuple[str, ...]) -> bool:
    """Replaces ``is_current``, without the check of ``mark``."""
    return all(freshness._changed.get(one, -1) <= stamp for one in dependencies)
