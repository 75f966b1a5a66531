"""The import itself: checked anew on what the log holds now, and appended as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack

from msgspec import Struct

from write_side.commands import ImportEntries
from write_side.dispatch import execute
from write_side.domain.events import ImportedRow, Outcome
from write_side.domain.identity import Actor
from write_side.domain.refusals import (
    InvalidField,
    MissingFields,
    PlanLimitReached,
    Refused,
    SlugTaken,
    StaleDecision,
    UnknownEntry,
    UnknownReference,
    VersionConflict,
)
from write_side.imports.check import Checked, check, command_of
from write_side.imports.files import Table
from write_side.imports.preview import Difference, Preview, State, differences
from write_side.imports.priority import priority
from write_side.imports.report import Report, import_report, noted, report_of_nothing
from write_side.imports.wish import Wish
from write_side.repository import Repository
from write_side.slices import in_slices

ATTEMPTS = 10
ATTEMPTS_WITHOUT_PRIORITY = 2
LONGEST_NOTE = 300
_OUTCOMES: dict[State, Outcome] = {
    "new": "new",
    "update": "updated",
    "unchanged": "unchanged",
    "skipped": "skipped",
    "error": "error",
}
_OVERTAKEN = (
    InvalidField,
    MissingFields,
    PlanLimitReached,
    SlugTaken,
    UnknownEntry,
    UnknownReference,
    VersionConflict,
)
"""How a command is refused that was right a moment ago: the next check tells of which row."""


class RowsRefused(Refused):
    """Rows have errors, and not only those that are ready shall be imported."""

    def __init__(self, preview: Preview) -> None:
        self.preview = preview
        super().__init__(
            f"Nothing was imported: {preview.counts.error} of {len(preview.rows)} rows have errors"
        )


class Changed(Struct, frozen=True, rename="camel"):
    """Nothing was imported: it would no longer do what was shown, but what is shown here."""

    preview: Preview
    differences: tuple[Difference, ...]


async def run_import(
    repository: Repository,
    table: Table,
    wish: Wish,
    by: Actor,
    expected: Preview | None = None,
    request_id: str | None = None,
) -> Report | Changed:
    """Import the rows that are ready, all of them or none.

    ``expected``: what was shown and agreed to; None agrees to anything. An import that was carried
    out before has no effect: its report is answered.

    Raises RowsRefused, ImportIdTaken, StaleDecision where its entries change all the time, and what
    ``check`` raises.
    """
    async with AsyncExitStack() as stack:
        for attempt in range(ATTEMPTS):
            if attempt == ATTEMPTS_WITHOUT_PRIORITY and wish.options.update:
                content_type = await repository.content_type(wish.scope, wish.content_type_slug)
                await stack.enter_async_context(priority(repository, content_type.id))
            done = await _attempt(repository, table, wish, by, expected, request_id)
            if done is not None:
                return done
    raise StaleDecision(
        "Entries of this file, or their type, are being edited all the time: try again"
    )


async def _attempt(
    repository: Repository,
    table: Table,
    wish: Wish,
    by: Actor,
    expected: Preview | None,
    request_id: str | None,
) -> Report | Changed | None:
    """None where somebody else was faster than what was checked could be appended."""
    if await repository.find_import(wish.import_id) is not None:
        again = await _command(table, wish, by, request_id, None)
        return await _report(repository, again, wish, replayed=True)
    checked = await check(repository, table, wish)
    if await repository.find_import(wish.import_id) is not None:
        return None  # Sent twice at once: the check may have met what the other one has imported.
    if expected is not None and checked.preview.digest != expected.digest:
        return Changed(checked.preview, differences(expected, checked.preview))
    if checked.preview.counts.error and not wish.options.ready_only:
        raise RowsRefused(checked.preview)
    command = await _command(table, wish, by, request_id, checked)
    if not checked.preview.counts.ready:
        return noted(report_of_nothing(command), checked.preview)
    try:
        return noted(await _report(repository, command, wish), checked.preview)
    except _OVERTAKEN:
        return None


async def _report(
    repository: Repository, command: ImportEntries, wish: Wish, *, replayed: bool = False
) -> Report:
    replayed = (await execute(command, repository)).replayed or replayed
    return await import_report(repository, wish.scope, wish.import_id, replayed=replayed)


async def _command(
    table: Table, wish: Wish, by: Actor, request_id: str | None, checked: Checked | None
) -> ImportEntries:
    """Without anything checked it only asks what came of it before."""
    actor = Actor("import", wish.import_id, table.name)
    outcomes = checked.outcomes if checked else ()
    counts = checked.preview.counts if checked else None
    ready = (outcome for outcome in outcomes if outcome.state in ("new", "update"))
    return ImportEntries(
        actor=actor,
        request_id=request_id,
        scope=wish.scope,
        content_type_slug=wish.content_type_slug,
        import_id=wish.import_id,
        file_name=table.name,
        entries=[command_of(outcome, wish, actor) async for outcome in in_slices(ready)],
        language=wish.options.language,
        by=by,
        rows=tuple(_recorded(checked)) if checked else (),
        unchanged=counts.unchanged if counts else 0,
        skipped=counts.skipped if counts else 0,
        failed=counts.error if counts else 0,
    )


def _recorded(checked: Checked) -> Iterator[ImportedRow]:
    for row in checked.preview.rows:
        errors = [note for note in row.notes if note.severity == "error"]
        said = "; ".join(f"{note.heading} {note.reason}".strip() for note in errors)
        yield ImportedRow(row.number, _OUTCOMES[row.state], row.entry_id, row.slug, _cut(said))


def _cut(note: str) -> str:
    """Between words, and seen to be cut."""
    if len(note) <= LONGEST_NOTE:
        return note
    return note[: LONGEST_NOTE - 1].rsplit(" ", 1)[0] + "…"
