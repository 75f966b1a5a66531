"""How long work is shown: a bar with rate and time left on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projector.rebuild.progress import Progress, Report
    from write_side.verification.claim_check import Difference

EVERY = 1.0
SHOWN = 100
"""Differences of a table that a terminal is given; JSON has them all."""


def on_terminal() -> bool:
    return sys.stdout.isatty()


def working(what: str) -> AbstractContextManager[object]:
    """Says on a terminal what is being done, as long as it lasts."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


@contextmanager
def showing() -> Iterator[Report]:
    """What to tell of progress, as long as the work lasts."""
    if not on_terminal():
        yield _Lines().tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    rate = TextColumn("{task.fields[rate]}")
    with Bar(
        TextColumn("{task.description:8}"),
        BarColumn(),
        MofNCompleteColumn(),
        rate,
        TimeRemainingColumn(),
    ) as bar:
        yield _Bars(bar).tell


def show_result(**result: Any) -> None:
    """The last line of what was done, for scripts; nothing on a terminal."""
    if not on_terminal():
        click.echo(msgspec.json.encode(result))


def show_differences(found: Sequence[Difference]) -> None:
    """Every one of them as JSON; on a terminal the first of each table, and how many there are."""
    if not on_terminal():
        for one in found:
            click.echo(msgspec.json.encode(one))
        return
    by_relation: dict[str, list[Difference]] = {}
    for one in found:
        by_relation.setdefault(one.relation, []).append(one)
    for relation, ones in by_relation.items():
        for one in ones[:SHOWN]:
            click.echo(f"{relation} {one.key}: {one.kind}")
        if len(ones) > SHOWN:
            click.echo(f"{relation}: {len(ones) - SHOWN} more (all of them: pipe the output)")


class _Lines:
    def __init__(self) -> None:
        self._phase = ""
        self._told = 0.0

    def tell(self, progress: Progress) -> None:
        """A line at the beginning and the end of a phase, and each second between."""
        is_end = progress.done >= progress.total
        now = time.monotonic()
        if progress.phase == self._phase and now - self._told < EVERY and not is_end:
            return
        self._phase, self._told = progress.phase, now
        left = progress.seconds_left
        line = {
            "phase": progress.phase,
            "done": progress.done,
            "total": progress.total,
            "rate": round(progress.rate),
            "secondsLeft": None if left is None else round(left, 1),
        }
        click.echo(msgspec.json.encode(line))


class _Bars:
    """A bar for each phase."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._tasks: dict[str, Any] = {}

    def tell(self, progress: Progress) -> None:
        if progress.phase not in self._tasks:
            self._tasks[progress.phase] = self._bar.add_task(
                progress.phase, total=progress.total, rate=""
            )
        rate = f"{progress.rate:,.0f}/s" if progress.total > 1 and progress.done else ""
        self._bar.update(self._tasks[progress.phase], completed=progress.done, rate=rate)
