"""What becomes of a row, and how that is shown."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Raw, Struct, field

from write_side.domain.entry import Entry
from write_side.domain.values import NULL
from write_side.imports.preview import Note, PreviewRow, State
from write_side.imports.rows import Cell, Draft


class Outcome(Struct):
    """What becomes of a row. ``values``: those that it changes, or that the new entry has.

    ``references``: slug of another row of the file → the cell that names it.
    """

    draft: Draft
    state: State = "error"
    entry_id: str | None = None
    before: Entry | None = None
    after: Entry | None = None
    values: dict[str, Raw] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    references: dict[str, Cell] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(note.severity == "error" for note in self.notes)

    @property
    def changed(self) -> tuple[str, ...]:
        """What of an existing entry changes, as targets."""
        if self.state != "update" or self.before is None or self.after is None:
            return ()
        own = (
            ("Title", self.before.title != self.after.title),
            ("Status", self.before.status != self.after.status),
        )
        return (*(name for name, differs in own if differs), *self.values)


def preview_row(outcome: Outcome) -> PreviewRow:
    draft = outcome.draft
    is_made = outcome.after is not None and outcome.state != "error"
    return PreviewRow(
        number=draft.number,
        state=outcome.state,
        title=draft.title,
        slug=draft.slug,
        status=outcome.after.status if outcome.after else "",
        entry_id=outcome.entry_id if is_made or outcome.state == "skipped" else None,
        changed=outcome.changed,
        notes=tuple(outcome.notes),
        digest=_digest(outcome),
    )


def _digest(outcome: Outcome) -> str:
    """Of all that the row does, and of what it overwrites by that."""
    before = outcome.before.fields if outcome.before else {}
    status = outcome.after.status if outcome.after else ""
    told = (
        outcome.state,
        outcome.entry_id,
        outcome.draft.title,
        outcome.draft.slug,
        status,
        outcome.changed and outcome.before and (outcome.before.title, outcome.before.status),
        [(slug, before.get(slug, NULL), value) for slug, value in outcome.values.items()],
        outcome.notes,
    )
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16]
