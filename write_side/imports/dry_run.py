"""A dry run of a file's rows: the decisions of an import, without an append.

Each row becomes a command, and the functions of the handlers decide on it; their refusals become
notes. A row may repeat the slug of an earlier row and refer to any other, so its decision depends
on theirs and, if only ready rows are imported, on whether they are ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import UNSET, Struct

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.cells import BadCell, same
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, evolve
from write_side.domain.events import EntryCreated, EntryUpdated
from write_side.domain.identity import Actor
from write_side.domain.refusals import InvalidEntry, InvalidText, MissingFields, PlanLimitReached
from write_side.domain.values import NULL, is_empty, is_unchanged
from write_side.handlers.checks import missing_required, refusals
from write_side.handlers.entries import creation_event, entry_parts, update_event
from write_side.imports.preview import Note, NoteLimit, Severity
from write_side.imports.references import References
from write_side.imports.request import EntryKey, ImportRequest
from write_side.imports.row_decision import RowDecision
from write_side.imports.rows import Cell, ParsedRow, date_notes
from write_side.waiting import in_slices, in_thread_if_large

ROUNDS = 100


class EntryQuota(Struct, frozen=True):
    """The number of entries, and how many the plan allows; None means no limit."""

    used: int
    bound: int | None


Lost: TypeAlias = tuple[Cell, str]
"""A cell that refers to a row that is not imported, and the reason."""
Excluded: TypeAlias = dict[int, list[Lost]]
"""Numbers of rows that are not imported. There may be millions of references: the notes are made
row by row."""


class ImportContext(Struct, frozen=True):
    """The state that the rows are decided on. ``existing``: key → entry id. ``entries``, by id, are
    loaded if they may be updated."""

    content_type: ContentType
    existing: Mapping[EntryKey, str]
    entries: Mapping[str, Entry]
    quota: EntryQuota
    references: References
    actor: Actor


async def dry_run(
    rows: Sequence[ParsedRow], context: ImportContext, request: ImportRequest
) -> list[RowDecision]:
    """The decision of every row, in order. Raises InvalidEntry if it cannot be determined."""
    excluded: Excluded = {}
    for _ in range(ROUNDS):
        decisions = await _Round(context, request, excluded).of(rows)
        failing: Excluded = {}
        if request.ready_only:
            async for number, lost in in_slices(_dangling(decisions, excluded)):
                failing.setdefault(number, []).append(lost)
        if not failing:
            return decisions
        excluded |= failing
    raise InvalidEntry(
        "The rows of the file repeat slugs and refer to one another in too many ways to determine "
        "which of them are ready: correct the rows that have errors first"
    )


class _Round:
    """One pass over the rows."""

    def __init__(self, context: ImportContext, request: ImportRequest, excluded: Excluded) -> None:
        self._context = context
        self._request = request
        self._excluded = excluded
        self._above: dict[EntryKey, dict[tuple[str, ...], int]] = {}
        """Key → the contents of the rows above, each with the number of its first row."""
        self._entries = dict(context.entries)
        self._limit = NoteLimit()
        self._left = (
            None if context.quota.bound is None else context.quota.bound - context.quota.used
        )

    async def of(self, rows: Iterable[ParsedRow]) -> list[RowDecision]:
        return [
            await in_thread_if_large(self._parts(row), self._bounded, row)
            async for row in in_slices(rows)
        ]

    def _parts(self, row: ParsedRow) -> int:
        """Of the row and the entry that it may update."""
        return row.parts + entry_parts(self._entries.get(self._entry_id(row.key) or ""))

    def _bounded(self, row: ParsedRow) -> RowDecision:
        decision = self._decision(row)
        decision.bound(self._limit)
        return decision

    def _decision(self, row: ParsedRow) -> RowDecision:
        decision = RowDecision(row, notes=[*row.notes, *date_notes(row.cells)])
        decision.entry_id = self._entry_id(row.key)
        self._compare(decision)
        if decision.entry_id is not None and self._is_skipped(decision):
            decision.state, decision.notes = "skipped", []
            self._note_content(row)
            return decision
        decision.before = before = self._entries.get(decision.entry_id or "")
        was_published = before is not None and before.status == "published"
        decision.notes += row.status_notes(was_published=was_published)
        self._read_cells(decision)
        self._decide(decision)
        lost = self._excluded.get(row.number, ())
        decision.notes += [cell.note(reason) for cell, reason in lost]
        decision.notes += self._slug_notes(decision)
        if before is None and not decision.failed:
            self._take_quota(decision)
        decision.settle()
        # If only ready rows are imported, a row with errors leaves its slug to others. Otherwise it
        # will be corrected, and counts as if it had no errors.
        if row.slug and not (decision.failed and self._request.ready_only):
            self._note_content(row)
            if decision.after is not None:
                self._entries[decision.after.id] = decision.after
        return decision

    def _compare(self, decision: RowDecision) -> None:
        """Compares a row with the rows above that have its slug."""
        row = decision.row
        decision.repeats = row.repeats
        decision.differs = row.repeats is not None
        if above := self._above.get(row.key):
            decision.repeats = next(iter(above.values()))
            decision.differs = above.keys() != {row.content}

    def _is_skipped(self, decision: RowDecision) -> bool:
        """Whether a row whose slug exists, in the store or in a row above, changes nothing."""
        request, above = self._request, self._above.get(decision.row.key)
        if decision.row.key in self._context.existing and not request.update:
            return True
        if not above:
            return False
        match request.repeats:
            case "skip":
                return True
            case "update":
                return False
            case "suffix":
                return decision.row.content in above
        return not request.update

    def _slug_notes(self, decision: RowDecision) -> list[Note]:
        if self._request.repeats != "suffix" or decision.row.key not in self._above:
            return []
        reason = f"{decision.row.slug!r} is the slug of row {decision.repeats}: choose another one"
        return [Note(None, "Slug", "error", "", reason)]

    def _entry_id(self, key: EntryKey) -> str | None:
        """The id of the entry that has the slug, in this language, after the rows above."""
        if key in self._context.existing:
            return self._context.existing[key]
        return self._request.entry_id(key) if key in self._above else None

    def _note_content(self, row: ParsedRow) -> None:
        self._above.setdefault(row.key, {}).setdefault(row.content, row.number)

    def _read_cells(self, decision: RowDecision) -> None:
        """The values of the row, and a note for every cell without a valid value."""
        held = decision.before.fields if decision.before else {}
        for cell in decision.row.cells:
            slug = cell.field.slug
            was = held.get(slug, NULL)
            if cell.value is None:
                if not is_empty(cell.field, was):
                    decision.values[slug] = NULL
                continue
            try:
                found = self._context.references.value_of(cell, was, decision.row.language)
            except BadCell as error:
                decision.notes.append(cell.note(str(error)))
                continue
            decision.references.update(dict.fromkeys(found.rows, cell))
            field, value = cell.field, found.value
            if not (is_unchanged(field, value, was) or same(field, value, was)):
                decision.values[slug] = value

    def _decide(self, decision: RowDecision) -> None:
        """Decides on the row as its handler would, and notes its refusals."""
        content_type, before = self._context.content_type, decision.before
        event: EntryCreated | EntryUpdated
        if before is None:
            create = self._create(decision)
            decision.command, decision.entry_id = create, create.entry_id
            event = creation_event(create, content_type)
        else:
            decision.command = update = self._update(decision, before)
            event = update_event(update, before, content_type)
        decision.after = after = evolve(before, event)
        bad_slug = decision.row.bad_slug if before is None else None
        if bad_slug:
            decision.notes.append(bad_slug)
        # A note already reports an error in the title or the slug.
        names_are_noted = bad_slug or any(n.severity == "error" for n in decision.row.notes)
        for refused in refusals(content_type, after, before):
            if isinstance(refused, MissingFields):
                reason = "is blank, and a published entry needs it"
                self._note_missing(decision, refused.paths, "error", reason)
            elif not (isinstance(refused, InvalidText) and names_are_noted):
                decision.notes.append(Note(None, "", "error", "", str(refused)))
        if after.status == "published" or not decision.changes_entry:
            return
        if paths := missing_required(content_type, after, before):
            reason = "is blank, and the entry cannot be published without it"
            self._note_missing(decision, paths, "warning", reason)

    def _create(self, decision: RowDecision) -> CreateEntry:
        row = decision.row
        return CreateEntry(
            actor=self._context.actor,
            scope=self._request.scope,
            content_type_slug=self._request.content_type_slug,
            title=row.title,
            slug=row.slug,
            status=row.status or self._request.status,
            language=row.language,
            fields=decision.values,
            entry_id=self._request.entry_id(row.key),
        )

    def _update(self, decision: RowDecision, before: Entry) -> UpdateEntry:
        row = decision.row
        return UpdateEntry(
            actor=self._context.actor,
            scope=self._request.scope,
            entry_id=before.id,
            title=row.title,
            status=UNSET if row.status is None else row.status,
            fields=decision.values,
            expected_version=before.version,
        )

    def _note_missing(
        self, decision: RowDecision, paths: Iterable[str], severity: Severity, reason: str
    ) -> None:
        """A note for each field without a required value, unless its cell has an error anyway. A
        repeater may lack thousands: the note names the first."""
        wrong = {note.column for note in decision.notes if note.severity == "error"}
        cells = {cell.field.slug: cell for cell in decision.row.cells}
        names = {each.slug: each.name for each in self._context.content_type.value_fields}
        lacking = groupby(paths, lambda path: path.partition("[")[0])
        for slug, [first, *others] in lacking:
            more = f"; {len(others):,} more are blank" if others else ""
            text = reason if first == slug else f"{first} {reason}{more}"
            cell = cells.get(slug)
            if cell is None:
                decision.notes.append(Note(None, names[slug], severity, "", text))
            elif cell.column.index not in wrong:
                decision.notes.append(cell.note(text, severity))

    def _take_quota(self, decision: RowDecision) -> None:
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            decision.is_over_limit = True
            refusal = PlanLimitReached(self._context.quota.bound or 0, "entry", "entries")
            decision.notes.append(Note(None, "", "error", "", str(refusal)))


def _dangling(decisions: Sequence[RowDecision], excluded: Excluded) -> Iterator[tuple[int, Lost]]:
    """Ready rows that refer to rows with errors, directly or through other rows, once for each
    reference.

    A later row, which was skipped or an update, may get the slug of a row with errors: rows that
    refer to it wait for the next round.
    """
    providers: dict[EntryKey, set[int]] = {}
    waiting: dict[EntryKey, list[RowDecision]] = {}
    for decision in decisions:
        # A new row with errors fails in every round; an update may be a new row in the next one.
        may_provide = not decision.failed or decision.before is not None
        if may_provide and decision.row.number not in excluded:
            providers.setdefault(decision.row.key, set()).add(decision.row.number)
        if not decision.failed:
            for key in decision.references:
                waiting.setdefault(key, []).append(decision)
    over_limit = {decision.row.key for decision in decisions if decision.is_over_limit}
    lost = [key for key in waiting if key not in providers]
    while lost:
        key = lost.pop()
        # Without the rows that refer to it, the plan may have room for it in the next round.
        why = "exceeds the plan's limit of entries" if key in over_limit else "has errors"
        reason = f"refers to the row with the slug {key[1]!r}, which {why}"
        for decision in waiting.get(key, ()):
            number, own = decision.row.number, decision.row.key
            yield number, (decision.references[key], reason)
            left = providers.get(own, set())
            if left == {number}:
                lost.append(own)
            left.discard(number)
