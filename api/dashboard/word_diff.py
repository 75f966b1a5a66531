"""Two texts compared word by word, in bounded time.

Myers' greedy algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986) between the
common beginning and the common end. Texts with too many differences are shown as one replacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

MAX_EDITS = 100
MAX_STEPS = 20_000
"""Steps of comparing words: about 5 ms."""
CONTEXT = 80
"""Characters of an unchanged part that are shown before and after a change."""
LONGEST = 1_000
"""Characters of a changed part."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["same", "removed", "added"]


class Span(Struct, frozen=True):
    """A part of both texts ("same") or of one of them."""

    kind: Kind
    text: str


def word_diff(before: str, after: str) -> list[Span]:
    """The texts as spans; "same" and "removed" spans make up the text before, "same" and "added"
    spans the text after."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    middle = _middle(old[start : len(old) - end], new[start : len(new) - end])
    words = [
        *(("same", word) for word in old[:start]),
        *middle,
        *(("same", word) for word in old[len(old) - end :]),
    ]
    return [
        Span(kind, "".join(word for _, word in run))
        for kind, run in groupby(words, key=lambda one: one[0])
    ]


def excerpt(spans: Sequence[Span]) -> list[Span]:
    """The changed parts with a little context."""
    last = len(spans) - 1
    return [
        Span(span.kind, _shortened(span, is_first=n == 0, is_last=n == last))
        for n, span in enumerate(spans)
    ]


def _shortened(span: Span, *, is_first: bool, is_last: bool) -> str:
    text = span.text
    if span.kind != "same":
        return text if len(text) <= LONGEST else text[:LONGEST] + "…"
    head = "" if is_first else text[:CONTEXT]
    tail = "" if is_last else text[-CONTEXT:]
    return text if len(text) <= 2 * CONTEXT else f"{head} … {tail}"


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many words at the beginning are the same."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _middle(old: Sequence[str], new: Sequence[str]) -> list[tuple[Kind, str]]:
    trace = _trace(old, new)
    if trace is None:
        return [*(("removed", word) for word in old), *(("added", word) for word in new)]
    return list(_path(old, new, trace))[::-1]


def _trace(old: Sequence[str], new: Sequence[str]) -> list[dict[int, int]] | None:
    """For each number of edits, how far into the old text they reach, by diagonal; None if the
    texts differ in too many places."""
    reach, trace, steps = {1: 0}, [], 0
    for edits in range(MAX_EDITS + 1):
        trace.append(reach.copy())
        for diagonal in range(-edits, edits + 1, 2):
            x = began = _entered(reach, diagonal, edits)[0]
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= len(old) and y >= len(new):
                return trace
            steps += x - began + 1
        if steps > MAX_STEPS:
            return None
    return None


def _entered(reach: dict[int, int], diagonal: int, edits: int) -> tuple[int, bool]:
    """Where the path enters the diagonal, and whether by an added word (from the diagonal above) or
    by a removed one."""
    is_added = diagonal == -edits or (
        diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1]
    )
    return (reach[diagonal + 1], True) if is_added else (reach[diagonal - 1] + 1, False)


def _path(
    old: Sequence[str], new: Sequence[str], trace: Sequence[dict[int, int]]
) -> Iterator[tuple[Kind, str]]:
    """The words of both texts, from the last to the first."""
    x, y = len(old), len(new)
    for edits in range(len(trace) - 1, -1, -1):
        diagonal = x - y
        entered, is_added = _entered(trace[edits], diagonal, edits)
        while x > entered:
            x, y = x - 1, y - 1
            yield "same", old[x]
        if edits == 0:
            return
        if is_added:
            y -= 1
            yield "added", new[y]
        else:
            x -= 1
            yield "removed", old[x]
