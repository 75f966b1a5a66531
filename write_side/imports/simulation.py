"""Goes through the rows as an import would, in order, without saving anything.

A row may repeat the slug of an earlier one, and may refer to any other: so what becomes of it
depends on the others, and where only ready rows are imported, on their being ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct

from write_side.decision import now
from write_side.domain.cells import BadCell, same
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.entry import Entry, check_size, evolve
from write_side.domain.events import EntryCreated, EntryUpdated
from write_side.domain.identity import Actor
from write_side.domain.refusals import InvalidEntry, PlanLimitReached
from write_side.domain.values import NULL, is_empty, missing
from write_side.handlers.entries import lacking
from write_side.imports.outcome import Outcome
from write_side.imports.preview import Note, State
from write_side.imports.rows import Draft
from write_side.imports.targets import Targets
from write_side.imports.wish import Wish
from write_side.slices import in_slices

ROUNDS = 100
_NOBODY = Actor("import", "")


class Room(Struct, frozen=True):
    """What the plan leaves for new entries. ``bound`` is None where there is no limit."""

    used: int
    bound: int | None


class Basis(Struct, frozen=True):
    """What the log holds that the rows meet. ``existing``: slug → entry id; ``entries``, by id, are
    known where they may be updated."""

    content_type: ContentType
    existing: Mapping[str, str]
    entries: Mapping[str, Entry]
    room: Room
    targets: Targets


async def simulated(drafts: Sequence[Draft], basis: Basis, wish: Wish) -> list[Outcome]:
    """What becomes of every row, in order. Raises InvalidEntry where that cannot be told."""
    excluded: dict[int, list[Note]] = {}
    for _ in range(ROUNDS):
        outcomes = await _Round(basis, wish, excluded).of(drafts)
        failing = _dangling(outcomes, excluded) if wish.options.ready_only else {}
        if not failing:
            return outcomes
        excluded |= failing
    raise InvalidEntry(
        "The rows of the file repeat slugs and refer to one another in too many ways to say which "
        "of them are ready: correct the rows that have errors first"
    )


class _Round:
    """One way through the rows; ``excluded``: those that are not to be imported, by number."""

    def __init__(self, basis: Basis, wish: Wish, excluded: Mapping[int, list[Note]]) -> None:
        self._basis = basis
        self._wish = wish
        self._excluded = excluded
        self._fields = basis.content_type.value_fields
        self._made: dict[str, Outcome] = {}
        self._entries = dict(basis.entries)
        self._left = None if basis.room.bound is None else basis.room.bound - basis.room.used
        self._at = now()

    async def of(self, drafts: Iterable[Draft]) -> list[Outcome]:
        return [self._outcome(draft) async for draft in in_slices(drafts)]

    def _outcome(self, draft: Draft) -> Outcome:
        outcome = Outcome(draft, notes=list(draft.notes))
        outcome.entry_id = self._known(draft.slug)
        if outcome.entry_id is not None and not self._wish.options.update:
            outcome.state, outcome.notes = "skipped", []
            return outcome
        outcome.before = before = self._entries.get(outcome.entry_id or "")
        was_published = before is not None and before.status == "published"
        outcome.notes += draft.status_notes(was_published=was_published)
        self._value(outcome)
        self._conclude(outcome)
        outcome.notes += self._excluded.get(draft.number, [])
        if outcome.before is None and not outcome.failed:
            self._take_room(outcome)
        outcome.state = _state(outcome)
        if outcome.state == "unchanged":
            outcome.after = outcome.before  # no event
        # A row with errors is in nobody's way where it will not be imported; elsewhere it will be
        # corrected, and is taken for what it is going to be.
        if draft.slug and not (outcome.failed and self._wish.options.ready_only):
            self._register(outcome)
        return outcome

    def _known(self, slug: str) -> str | None:
        """The id of the entry that has the slug by now."""
        if slug in self._basis.existing:
            return self._basis.existing[slug]
        return self._wish.entry_id(slug) if slug in self._made else None

    def _register(self, outcome: Outcome) -> None:
        self._made.setdefault(outcome.draft.slug, outcome)
        if outcome.after is not None:
            self._entries[outcome.after.id] = outcome.after

    def _value(self, outcome: Outcome) -> None:
        """The values that the row gives, and every cell that is none."""
        held = outcome.before.fields if outcome.before else {}
        for cell in outcome.draft.cells:
            slug = cell.field.slug
            was = held.get(slug, NULL)
            if cell.value is None:
                if not is_empty(cell.field, was):
                    outcome.values[slug] = NULL
                continue
            try:
                found = self._basis.targets.value_of(cell, was)
            except BadCell as error:
                outcome.notes.append(cell.note(str(error)))
                continue
            outcome.references.update(dict.fromkeys(found.rows, cell))
            if not same(cell.field, found.value, was):
                outcome.values[slug] = found.value

    def _conclude(self, outcome: Outcome) -> None:
        """The entry after the row, and what is wrong with it as a whole."""
        outcome.after = after = self._after(outcome)
        try:
            check_size(after)
        except InvalidEntry as error:
            outcome.notes.append(Note(None, "", "error", "", str(error)))
        before = outcome.before
        allowed = lacking(self._basis.content_type, before) if before else []
        is_published = after.status == "published"
        bad = {note.column for note in outcome.notes if note.severity == "error"}
        for path in missing(self._fields, after.fields):
            column, heading = _column(outcome.draft, path, self._fields)
            if path not in allowed and (column is None or column not in bad):
                outcome.notes.append(_lack(column, heading, is_published=is_published))

    def _after(self, outcome: Outcome) -> Entry:
        draft, before = outcome.draft, outcome.before
        said = _said(self._basis.content_type, self._at)
        if before is None:
            outcome.entry_id = self._wish.entry_id(draft.slug)
            return evolve(
                None,
                EntryCreated(
                    **said,
                    entry_id=outcome.entry_id,
                    slug=draft.slug,
                    title=draft.title,
                    language=self._wish.options.language,
                    status=draft.status or "draft",
                    fields=outcome.values,
                ),
            )
        return evolve(
            before,
            EntryUpdated(
                **said,
                entry_id=before.id,
                title=draft.title,
                status=UNSET if draft.status is None else draft.status,
                fields=outcome.values,
            ),
        )

    def _take_room(self, outcome: Outcome) -> None:
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            refusal = PlanLimitReached("entries", self._basis.room.bound or 0)
            outcome.notes.append(Note(None, "", "error", "", str(refusal)))


def _state(outcome: Outcome) -> State:
    if outcome.failed:
        return "error"
    if outcome.before is None:
        return "new"
    assert outcome.after is not None
    before, after = outcome.before, outcome.after
    same_own = (before.title, before.status) == (after.title, after.status)
    return "unchanged" if same_own and not outcome.values else "update"


def _dangling(
    outcomes: Sequence[Outcome], excluded: Mapping[int, list[Note]]
) -> dict[int, list[Note]]:
    """Ready rows that refer to rows which are not, and those that refer to them in turn.

    A slug that a row gives up may be had by a later one, which was skipped or an update: what
    refers to it waits for the next round.
    """
    providers: dict[str, set[int]] = {}
    waiting: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if _may_provide(outcome) and outcome.draft.number not in excluded:
            providers.setdefault(outcome.draft.slug, set()).add(outcome.draft.number)
        if not outcome.failed:
            for slug in outcome.references:
                waiting.setdefault(slug, []).append(outcome)
    lost = [slug for slug in waiting if slug not in providers]
    failing: dict[int, list[Note]] = {}
    while lost:
        slug = lost.pop()
        for outcome in waiting.get(slug, ()):
            reason = f"refers to the row with the slug {slug!r}, which has errors"
            number, own = outcome.draft.number, outcome.draft.slug
            failing.setdefault(number, []).append(outcome.references[slug].note(reason))
            left = providers.get(own, set())
            if left == {number}:
                lost.append(own)
            left.discard(number)
    return failing


def _may_provide(outcome: Outcome) -> bool:
    """As a new row it would fail again, if it has; as an update it may have failed for that."""
    return not outcome.failed or outcome.before is not None


def _lack(column: int | None, heading: str, *, is_published: bool) -> Note:
    if is_published:
        return Note(column, heading, "error", "", "is blank, and a published entry needs it")
    reason = "is blank, and the entry cannot be published without it"
    return Note(column, heading, "warning", "", reason)


def _column(draft: Draft, path: str, fields: Iterable[Field]) -> tuple[int | None, str]:
    """Where the field is in the file, or what it is called where it is not."""
    slug = path.partition("[")[0]
    for cell in draft.cells:
        if cell.field.slug == slug:
            return cell.column.index, cell.column.heading
    return None, next(each.name for each in fields if each.slug == slug)


def _said(content_type: ContentType, at: datetime) -> dict[str, Any]:
    return {
        "workspace": content_type.workspace,
        "environment": content_type.environment,
        "actor": _NOBODY,
        "at": at,
        "content_type_id": content_type.id,
    }
