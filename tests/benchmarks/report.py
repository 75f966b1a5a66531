"""Prints results, each figure next to the one it is compared with."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct


class Row(Struct, frozen=True):
    """``ours`` and ``theirs`` have the same unit, and are medians of alternating rounds. A higher
    ``ratio`` is better for us. ``aim`` is the target for the ratio."""

    what: str
    ours: str
    theirs: str
    ratio: float | None = None
    aim: str = ""


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def ratio_of_rounds(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of adjacent rounds: disturbances of the machine affect both
    sides."""
    return median([a / b for a, b in zip(ours, theirs, strict=True)])


def table(title: str, rows: Sequence[Row], against: str) -> str:
    """Returns a Markdown table."""
    lines = [
        f"### {title}",
        "",
        f"| what | contentlog | {against} | ratio | aim |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}×"
        lines.append(f"| {row.what} | {row.ours} | {row.theirs} | {ratio} | {row.aim} |")
    return "\n".join(lines) + "\n"


def heading() -> str:
    """The date, commit and machine of a run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return (
        f"## {datetime.now(UTC):%Y-%m-%d}, commit {commit}\n\n"
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        "embedded PostgreSQL 18 with fsync on, everything on one machine.\n"
    )
