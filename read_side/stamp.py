"""Stamps: the epoch and the position of a checkpoint in one number."""

from __future__ import annotations

POSITION_BITS = 39
"""The bits of a stamp, out of 63, that hold the position: up to 549,755,813,887."""
LATEST = 2**63 - 1
"""Greater than every position."""
EPOCHS = 1 << (63 - POSITION_BITS)
"""After this many, epochs begin again at 0, as if the database had been set back."""


def stamp_of(epoch: int, position: int) -> int:
    """The checkpoint in one number, as ``stamp.sql`` makes it: of two checkpoints of a
    database, that of the later epoch is the later one, and within an epoch that of the higher
    position."""
    return epoch % EPOCHS << POSITION_BITS | position


def epoch_of(stamp: int) -> int:
    return stamp >> POSITION_BITS


def position_of(stamp: int) -> int:
    return stamp & ((1 << POSITION_BITS) - 1)
