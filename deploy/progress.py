"""The progress of long work, and the results of commands: bars on a terminal, lines elsewhere, JSON
lines with --json."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from deploy.failures import Failed

if TYPE_CHECKING:
    from projector.rebuild.progress import Progress, Report
    from write_side.verification.claim_check import Difference

T = TypeVar("T")

INTERVAL = 1.0  # seconds between two lines of a phase
SHOWN = 100
"""Differences of a table that are printed; JSON has all of them."""


def spinner(text: str) -> AbstractContextManager[object]:
    """Shows the text on a terminal while the work lasts."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


@contextmanager
def progress(*, as_json: bool) -> Iterator[Report]:
    """A function to call with the progress while the work lasts."""
    if as_json or not sys.stdout.isatty():
        yield _lines(_json_line if as_json else _line)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    with Bars(
        TextColumn("{task.description:8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    ) as bars:
        tasks: dict[str, Any] = {}

        def show(now: Progress) -> None:
            if now.phase not in tasks:
                tasks[now.phase] = bars.add_task(now.phase, total=now.total, rate="")
            rate = f"{now.rate:,.0f}/s" if now.total > 1 and now.done else ""
            bars.update(tasks[now.phase], completed=now.done, rate=rate)

        yield show


def show_result(text: str | None, *, as_json: bool, **result: Any) -> None:
    """The last line: the text, or the result as JSON."""
    if as_json:
        click.echo(msgspec.json.encode(result))
    elif text:
        click.echo(text)


@contextmanager
def shown_once(secret: str, remedy: str) -> Iterator[None]:
    """Raises Failed, which names the remedy, if the secret cannot be printed."""
    try:
        yield
    except OSError as error:
        reason = error.strerror
        raise Failed(f"the {secret} could not be printed ({reason}): {remedy}") from error


def show_rows(rows: Sequence[T], line: Callable[[T], str], *, as_json: bool) -> None:
    """A line for each row, or all of them as JSON."""
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    for row in rows:
        click.echo(line(row))


def show_differences(found: Sequence[Difference], *, as_json: bool) -> None:
    """The first of each table and their number; as JSON, all of them."""
    if as_json:
        for difference in found:
            click.echo(msgspec.json.encode(difference))
        return
    by_table: dict[str, list[Difference]] = {}
    for difference in found:
        by_table.setdefault(difference.relation, []).append(difference)
    for table, differences in by_table.items():
        for difference in differences[:SHOWN]:
            click.echo(f"{table} {difference.key}: {difference.kind}")
        if len(differences) > SHOWN:
            click.echo(f"{table}: {len(differences) - SHOWN} more (--json prints all)")


def _lines(line: Callable[[Progress], str | bytes]) -> Report:
    """Prints a line at the beginning and the end of a phase, and each second between."""
    last_phase, printed = "", 0.0

    def show(now: Progress) -> None:
        nonlocal last_phase, printed
        clock = time.monotonic()
        is_due = clock - printed >= INTERVAL or now.done >= now.total
        if now.phase == last_phase and not is_due:
            return
        last_phase, printed = now.phase, clock
        click.echo(line(now))

    return show


def _line(now: Progress) -> str:
    rate = f", {now.rate:,.0f}/s" if now.total > 1 and now.done else ""
    return f"{now.phase:8} {now.done:,} of {now.total:,}{rate}"


def _json_line(now: Progress) -> bytes:
    left = now.seconds_left
    line = {
        "phase": now.phase,
        "done": now.done,
        "total": now.total,
        "rate": round(now.rate),
        "secondsLeft": None if left is None else round(left, 1),
    }
    return msgspec.json.encode(line)
