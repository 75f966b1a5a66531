"""What becomes of a file's rows: the decisions of an import, without an append.

Each row becomes a command, and the functions of the handlers decide on it; their refusals become
notes. A row may repeat the slug of an earlier row and refer to any other, so its outcome depends on
theirs, and where only ready rows are imported, on their being ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, Raw, Struct, field

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.cells import BadCell, same
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, evolve
from write_side.domain.events import EntryCreated, EntryUpdated
from write_side.domain.identity import Actor
from write_side.domain.refusals import InvalidEntry, InvalidText, MissingFields, PlanLimitReached
from write_side.domain.values import NULL, is_empty, is_null
from write_side.handlers.checks import missing_required, refusals
from write_side.handlers.entries import creation_event, update_event
from write_side.imports.preview import Note, Severity, State
from write_side.imports.references import References
from write_side.imports.request import ImportRequest
from write_side.imports.rows import Cell, Draft
from write_side.slices import in_slices

ROUNDS = 100


class Outcome(Struct):
    """What becomes of a row. ``values``: those that it changes, or that the new entry has.

    ``references``: slug of another row of the file → the cell that names it. ``command`` and
    ``after`` are set for all rows but skipped ones, even where the row has errors.
    """

    draft: Draft
    state: State = "error"
    entry_id: str | None = None
    before: Entry | None = None
    after: Entry | None = None
    command: CreateEntry | UpdateEntry | None = None
    values: dict[str, Raw] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    references: dict[str, Cell] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(note.severity == "error" for note in self.notes)

    @property
    def changed(self) -> tuple[str, ...]:
        """What changes of an existing entry, as targets."""
        if self.state != "update" or self.before is None or self.after is None:
            return ()
        own = (
            ("Title", self.before.title != self.after.title),
            ("Status", self.before.status != self.after.status),
        )
        return (*(name for name, differs in own if differs), *self.values)


class Room(Struct, frozen=True):
    """How many entries there are, and how many the plan allows; None is no limit."""

    used: int
    bound: int | None


class Basis(Struct, frozen=True):
    """The state that the rows are decided on. ``existing``: slug → entry id. ``entries``, by id,
    are loaded where they may be updated."""

    content_type: ContentType
    existing: Mapping[str, str]
    entries: Mapping[str, Entry]
    room: Room
    references: References
    actor: Actor


async def dry_run(drafts: Sequence[Draft], basis: Basis, request: ImportRequest) -> list[Outcome]:
    """The outcome of every row, in order. Raises InvalidEntry where it cannot be determined."""
    excluded: dict[int, list[Note]] = {}
    for _ in range(ROUNDS):
        outcomes = await _Round(basis, request, excluded).of(drafts)
        failing = _dangling(outcomes, excluded) if request.options.ready_only else {}
        if not failing:
            return outcomes
        excluded |= failing
    raise InvalidEntry(
        "The rows of the file repeat slugs and refer to one another in too many ways to say which "
        "of them are ready: correct the rows that have errors first"
    )


class _Round:
    """One pass over the rows. ``excluded``: numbers of rows not to be imported, with the reason."""

    def __init__(
        self, basis: Basis, request: ImportRequest, excluded: Mapping[int, list[Note]]
    ) -> None:
        self._basis = basis
        self._request = request
        self._excluded = excluded
        self._made: set[str] = set()
        self._entries = dict(basis.entries)
        self._left = None if basis.room.bound is None else basis.room.bound - basis.room.used

    async def of(self, drafts: Iterable[Draft]) -> list[Outcome]:
        return [self._outcome(draft) async for draft in in_slices(drafts)]

    def _outcome(self, draft: Draft) -> Outcome:
        outcome = Outcome(draft, notes=list(draft.notes))
        outcome.entry_id = self._known(draft.slug)
        if outcome.entry_id is not None and not self._request.options.update:
            outcome.state, outcome.notes = "skipped", []
            return outcome
        outcome.before = before = self._entries.get(outcome.entry_id or "")
        was_published = before is not None and before.status == "published"
        outcome.notes += draft.status_notes(was_published=was_published)
        self._read_cells(outcome)
        self._decide(outcome)
        outcome.notes += self._excluded.get(draft.number, [])
        if before is None and not outcome.failed:
            self._take_room(outcome)
        outcome.state = _state(outcome)
        if outcome.state == "unchanged":
            outcome.after = before  # no event
        # Where only ready rows are imported, a row with errors leaves its slug to others. Elsewhere
        # it will be corrected, and counts as what it is going to be.
        if draft.slug and not (outcome.failed and self._request.options.ready_only):
            self._register(outcome)
        return outcome

    def _known(self, slug: str) -> str | None:
        """The id of the entry that has the slug after the rows above."""
        if slug in self._basis.existing:
            return self._basis.existing[slug]
        return self._request.entry_id(slug) if slug in self._made else None

    def _register(self, outcome: Outcome) -> None:
        self._made.add(outcome.draft.slug)
        if outcome.after is not None:
            self._entries[outcome.after.id] = outcome.after

    def _read_cells(self, outcome: Outcome) -> None:
        """The values of the row, and a note for every cell that has none."""
        held = outcome.before.fields if outcome.before else {}
        for cell in outcome.draft.cells:
            slug = cell.field.slug
            was = held.get(slug, NULL)
            if cell.value is None:
                if not is_empty(cell.field, was):
                    outcome.values[slug] = NULL
                continue
            try:
                found = self._basis.references.value_of(cell, was)
            except BadCell as error:
                outcome.notes.append(cell.note(str(error)))
                continue
            outcome.references.update(dict.fromkeys(found.rows, cell))
            unchanged = is_null(found.value) if is_null(was) else same(cell.field, found.value, was)
            if not unchanged:
                outcome.values[slug] = found.value

    def _decide(self, outcome: Outcome) -> None:
        """Decides on the row as its handler will, and notes what it would refuse."""
        content_type, before = self._basis.content_type, outcome.before
        event: EntryCreated | EntryUpdated
        if before is None:
            create = self._create(outcome)
            outcome.command, outcome.entry_id = create, create.entry_id
            event = creation_event(create, content_type)
        else:
            outcome.command = update = self._update(outcome, before)
            event = update_event(update, before, content_type)
        outcome.after = after = evolve(before, event)
        for refused in refusals(content_type, after, before):
            if isinstance(refused, MissingFields):
                reason = "is blank, and a published entry needs it"
                self._note_missing(outcome, refused.paths, "error", reason)
            elif not (isinstance(refused, InvalidText) and _names_are_noted(outcome.draft)):
                outcome.notes.append(Note(None, "", "error", "", str(refused)))
        if after.status != "published" and (paths := missing_required(content_type, after, before)):
            reason = "is blank, and the entry cannot be published without it"
            self._note_missing(outcome, paths, "warning", reason)

    def _create(self, outcome: Outcome) -> CreateEntry:
        draft = outcome.draft
        return CreateEntry(
            actor=self._basis.actor,
            scope=self._request.scope,
            content_type_slug=self._request.content_type_slug,
            title=draft.title,
            slug=draft.slug,
            status=draft.status or "draft",
            language=self._request.options.language,
            fields=outcome.values,
            entry_id=self._request.entry_id(draft.slug),
        )

    def _update(self, outcome: Outcome, before: Entry) -> UpdateEntry:
        draft = outcome.draft
        return UpdateEntry(
            actor=self._basis.actor,
            scope=self._request.scope,
            entry_id=before.id,
            title=draft.title,
            status=UNSET if draft.status is None else draft.status,
            fields=outcome.values,
            expected_version=before.version,
        )

    def _note_missing(
        self, outcome: Outcome, paths: Iterable[str], severity: Severity, reason: str
    ) -> None:
        """A note for each required field without a value, unless its cell has an error anyway."""
        wrong = {note.column for note in outcome.notes if note.severity == "error"}
        cells = {cell.field.slug: cell.column for cell in outcome.draft.cells}
        names = {each.slug: each.name for each in self._basis.content_type.value_fields}
        for path in paths:
            slug = path.partition("[")[0]
            column = cells.get(slug)
            if column is None:
                outcome.notes.append(Note(None, names[slug], severity, "", reason))
            elif column.index not in wrong:
                outcome.notes.append(Note(column.index, column.heading, severity, "", reason))

    def _take_room(self, outcome: Outcome) -> None:
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            refusal = PlanLimitReached("entries", self._basis.room.bound or 0)
            outcome.notes.append(Note(None, "", "error", "", str(refusal)))


def _names_are_noted(draft: Draft) -> bool:
    """Whether a note says already what is wrong with the title or the slug."""
    return any(note.severity == "error" for note in draft.notes)


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
    """Ready rows that refer to rows with errors, and the rows that refer to them in turn.

    A later row, which was skipped or an update, may get the slug of a row with errors: rows that
    refer to it wait for the next round.
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
    """A new row with errors fails in every round; an update may be a new row in the next one."""
    return not outcome.failed or outcome.before is not None
