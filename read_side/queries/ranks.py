"""The order of entries under several sort keys, as one text.

A rank sorts (by code points) as the keys of the entry do, each in its own direction. Values that
cannot be compared and missing ones come last in both. ``query_collect.sql`` makes the same ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

from write_side.domain.keys import INCOMPARABLE

# Above and below each hexadecimal digit, so that a key sorts by its beginning first.
_END, _END_DOWN = "!", "g"
_DOWN = str.maketrans("0123456789abcdef", "fedcba9876543210")


def rank(keys: Sequence[bytes], descending: Sequence[bool]) -> str:
    return "".join(map(_rank, keys, descending))


def _rank(key: bytes, descending: bool) -> str:
    if not descending:
        return key.hex() + _END
    if key < INCOMPARABLE:
        return "0" + key.hex().translate(_DOWN) + _END_DOWN
    return "1" + key.hex()
