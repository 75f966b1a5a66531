"""What `contentlog import` says of an import to people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.import_result import ImportResult
    from write_side.imports.preview import State
    from write_side.imports.report import KeptEntry, Reverted


def lines_of(told: ImportResult, severity: str) -> Iterator[str]:
    """A line for each cell that is wrong, or that is to be warned of."""
    for row in told.rows:
        for note in row.cells:
            if note.severity == severity:
                place = f"row {row.row}, {note.column}" if note.column else f"row {row.row}"
                cell = f"{note.cell!r} " if note.cell else ""
                yield f"{place}: {cell}{note.reason}"


def summary(counts: dict[State, int], verb: str) -> str:
    """One line of what was or would be done; "" where nothing is."""
    told: dict[State, str] = {
        "new": f"{'entry' if counts['new'] == 1 else 'entries'} {verb}",
        "update": "updated",
        "unchanged": "unchanged",
        "skipped": "skipped because their slug exists",
        "error": "left out because of errors",
    }
    return ", ".join(f"{counts[state]} {words}" for state, words in told.items() if counts[state])


def told_of_before(told: ImportResult, done: str) -> str:
    """Of an import whose id was used before; ``done`` now: nothing."""
    before = f"the import {told.import_id} was carried out before"
    if told.reverted is None:
        return f"{before}: {done}"
    back = told.reverted
    return (
        f"{before}, and taken back by {back.by} at {back.at:%Y-%m-%d %H:%M} UTC: {done} "
        "(with another --import-id it is imported anew)"
    )


def lines_of_revert(reverted: Reverted) -> Iterator[str]:
    if reverted.replayed:
        yield (
            f"the import {reverted.import_id} was taken back before, by {reverted.by} "
            f"at {reverted.at:%Y-%m-%d %H:%M} UTC: nothing was done"
        )
        return
    yield (
        f"the import {reverted.import_id} was taken back: {len(reverted.deleted)} deleted, "
        f"{len(reverted.restored)} restored"
    )
    if reverted.restored:
        yield (
            "times are not taken back: what is published again by this has been published since now"
        )
    if reverted.deleted:
        yield "references of other entries to those that were deleted are left as they are"
    yield from (f"{_left(entry)}: left as it is" for entry in reverted.changed_since)
    yield from (f"{_left(entry, 'deleted')} already" for entry in reverted.gone)


def _left(entry: KeptEntry, what: str = "changed") -> str:
    return (
        f"{entry.slug} ({entry.entry_id}) was {what} by {entry.by} at {entry.at:%Y-%m-%d %H:%M} UTC"
    )
