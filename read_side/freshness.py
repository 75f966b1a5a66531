"""Whether the database would still return what a process has read before (ADR 38).

A plain object: ``CheckpointWatch`` feeds it with the projector's notices and with what it polls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from msgspec import Struct

from read_side.high_water_mark import HighWaterMark
from read_side.notices import Dependency, Notice
from read_side.stamp import epoch_of, stamp_of

FRESH = 1.0
"""Seconds since the start of the last poll for which notices are taken to arrive."""
MOST_CHANGES = 20_000
NONE = -1
"""Before any stamp."""


class Poll(Struct, frozen=True):
    """What was known when a poll began."""

    started: float
    mark: int
    applied: int
    resets: int


class Freshness:
    """All checkpoints are stamps.

    ``resets`` counts how often everything read before became unusable. What was read under an
    earlier count must not be kept.
    """

    def __init__(self, mark: HighWaterMark, clock: Callable[[], float] = time.monotonic) -> None:
        self._mark = mark
        self._clock = clock
        self.applied = NONE
        """All changes up to here are in ``_changed``, from ``_floor`` on."""
        self._floor = NONE
        self._changed: dict[Dependency, int] = {}
        self._agreed_at = float("-inf")
        self._ahead = NONE
        self.resets = 0

    def is_current(self, stamp: int, dependencies: Iterable[Dependency]) -> bool:
        """Whether a response that was read at the stamp, and may be kept since, may be used."""
        if self.applied < self._mark.stamp or self._clock() - self._agreed_at >= FRESH:
            return False
        changed = self._changed
        for dependency in dependencies:  # noqa: SIM110 - all() takes twice as long
            if changed.get(dependency, NONE) > stamp:
                return False
        return True

    def may_use(self, stamp: int, latest: int, dependencies: Iterable[Dependency]) -> bool:
        """Whether what a replica returned, read at the stamp, may be used. ``latest``: of the
        replica, which may be ahead: then the primary may not show that state yet."""
        return (
            self._mark.is_shared
            and self._floor <= stamp
            and latest <= self.applied
            and self.is_current(stamp, dependencies)
        )

    def may_keep(self, stamp: int, resets: int) -> bool:
        """Whether what was read at the stamp may be kept; ``resets``: before it was read."""
        is_known = resets == self.resets and epoch_of(stamp) == epoch_of(self.applied)
        return is_known and self._mark.is_shared

    def on_notice(self, notice: Notice) -> None:
        after = stamp_of(notice.epoch, notice.after)
        stamp = stamp_of(notice.epoch, notice.position)
        self._mark.raise_to(stamp)
        if epoch_of(stamp) == epoch_of(self.applied) and stamp <= self._floor:
            return  # A poll was faster, and nothing older is kept.
        if after != self.applied or notice.changed is None or len(self._changed) > MOST_CHANGES:
            self.reset(stamp)
            return
        self._changed.update((one, stamp) for one in notice.dependencies())
        self.applied = stamp

    def begin_poll(self) -> Poll:
        """To be called before the checkpoint is read."""
        return Poll(self._clock(), self._mark.stamp, self.applied, self.resets)

    def end_poll(self, poll: Poll, stamp: int, latest: int = NONE) -> None:
        """To be called with the stamp that was read. ``latest``: if a read may have shown a later
        one already, the latest possible (ADR 59)."""
        latest = max(latest, stamp)
        if latest < poll.mark:
            # The database was set back: by a crash, or a restore.
            self._mark.lower(poll.mark, stamp)
        self._mark.raise_to(stamp)
        if poll.resets != self.resets:
            return  # A notice was faster: the next poll decides.
        is_other = epoch_of(stamp) != epoch_of(self.applied)
        is_missed = self.applied < self._ahead
        if is_other or is_missed or latest < max(poll.mark, poll.applied):
            self.reset(stamp)
        self._ahead = stamp if stamp > self.applied else NONE
        self._agreed_at = poll.started

    def reset(self, stamp: int = NONE) -> None:
        """Only what is read from now on may be kept."""
        self.resets += 1
        self._changed.clear()
        self.applied = self._floor = stamp
        self._ahead = NONE
        self._agreed_at = float("-inf")
