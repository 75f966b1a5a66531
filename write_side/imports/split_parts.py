"""The parts of a file of more rows than an import takes: how it is split, the record of the parts
in the log, and their revert.

The whole file is checked at once, so its rows may refer to one another and repeat slugs across
parts. References point to existing entries at every position of the log: a field that refers to an
entry of a later part is unchanged at first, and set by a final step after all parts are imported.
If such a field is required, that step also publishes the entry.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.events import ImportRecorded, Status
from write_side.domain.identity import Actor, Scope, derived_id, import_stream
from write_side.domain.refusals import UnknownImport
from write_side.domain.values import targets
from write_side.imports.check import DryRun
from write_side.imports.preview import PreviewRow
from write_side.imports.report import RevertReport, RevertReportEntry, revert_import
from write_side.imports.request import ImportRequest
from write_side.imports.table import LIMITS, SPLIT_LIMITS, Table, fingerprint_of
from write_side.repository import Repository
from write_side.store.append import Appended

PART_ROWS = LIMITS.rows
MOST_PARTS = SPLIT_LIMITS.rows // PART_ROWS
Recorded = dict[str, tuple[ImportRecorded, Appended]]
"""By import id: the record of a part, and the place of its events in the log."""


def part_id(import_id: str, number: int) -> str:
    """The import id of a part; parts count from 1."""
    return derived_id(import_id, "part", str(number))


def links_id(import_id: str, number: int) -> str:
    """The import id of the step that sets the references of a part's rows to later parts."""
    return derived_id(import_id, "references", str(number))


def split_fingerprint(table: Table, request: ImportRequest) -> str:
    """The fingerprints of the file and, after a hyphen, of the options except ``ready_only``:
    an import may be continued without rows that are no longer ready. Best called in a thread."""
    options = msgspec.msgpack.encode(replace(request, import_id="", ready_only=False))
    return f"{fingerprint_of(table)}-{hashlib.sha256(options).hexdigest()[:16]}"


async def recorded_parts(repository: Repository, import_id: str) -> Recorded:
    """The recorded parts of a split import, the last one first."""
    numbers = range(MOST_PARTS, 0, -1)
    ids = [id_of(import_id, number) for id_of in (links_id, part_id) for number in numbers]
    there = await repository.recorder.select_streams(map(import_stream, ids))
    found = {
        each: await repository.find_import(each) for each in ids if import_stream(each) in there
    }
    return {each: event for each, event in found.items() if event is not None}


async def scope_of_split(repository: Repository, import_id: str) -> Scope | None:
    """The scope of a split import; None if there is none with this id."""
    for import_event, _ in (await recorded_parts(repository, import_id)).values():
        return Scope(import_event.workspace, import_event.environment or "")
    return None


async def revert_split(
    repository: Repository, scope: Scope, import_id: str, by: Actor
) -> RevertReport:
    """Reverts all parts, the last one first, so that no existing entry refers to a deleted one. If
    interrupted, it continues when it is started again. Raises UnknownImport."""
    if await scope_of_split(repository, import_id) != scope:
        raise UnknownImport(import_id)
    reports = [
        await revert_import(repository, scope, each, by)
        for each in await recorded_parts(repository, import_id)
    ]

    def entries(found: Iterable[Sequence[RevertReportEntry]]) -> tuple[RevertReportEntry, ...]:
        by_id = {entry.entry_id: entry for part in found for entry in part}
        return tuple(by_id.values())

    deleted = entries(report.deleted for report in reports)
    gone = {entry.entry_id for entry in deleted}
    restored = entries(report.restored for report in reports)
    return RevertReport(
        import_id=import_id,
        at=reports[-1].at,
        by=reports[-1].by,
        deleted=deleted,
        restored=tuple(entry for entry in restored if entry.entry_id not in gone),
        changed_since=entries(report.changed_since for report in reports),
        gone=entries(report.gone for report in reports),
        position=max(report.position for report in reports),
        replayed=all(report.replayed for report in reports),
    )


class Link(Struct):
    """The values that are set in an entry after all parts are imported. ``version``: the one that
    it then has, unless it was changed in the meantime."""

    row: PreviewRow
    entry_id: str
    fields: dict[str, Raw] = {}
    status: Status | UnsetType = UNSET
    version: int = 0


class Part(Struct):
    """``is_done``: whether it is already imported, and so has no commands."""

    number: int
    is_done: bool
    rows: list[PreviewRow] = []
    commands: list[CreateEntry | UpdateEntry] = []
    links: list[Link] = []


def plan(dry_run: DryRun, done: Collection[int] = (), size: int = PART_ROWS) -> list[Part]:
    """The parts of a file. ``done``: numbers of the parts that are already imported and whose rows
    are the same as then."""
    return _Planner(dry_run, done, size).parts()


class _Planner:
    def __init__(self, dry_run: DryRun, done: Collection[int], size: int) -> None:
        self._dry_run = dry_run
        self._done = done
        self._size = size
        self._fields = {each.slug: each for each in dry_run.content_type.value_fields}
        self._made_in = {
            command.entry_id: 1 + index // size
            for index, command in enumerate(dry_run.commands)
            if isinstance(command, CreateEntry)
        }
        self._links: dict[str, Link] = {}
        self._missed: Counter[str] = Counter()
        """Entry id → events that the check expects but that do not occur."""

    def parts(self) -> list[Part]:
        parts: list[Part] = []
        rows = zip(self._dry_run.preview.rows, self._dry_run.commands, strict=True)
        for index, (row, command) in enumerate(rows):
            if index % self._size == 0:
                number = 1 + len(parts)
                parts.append(Part(number, number in self._done))
            part = parts[-1]
            part.rows.append(row)
            if isinstance(command, CreateEntry):
                part.commands.append(self._create(command, row, part))
            elif command is not None:
                part.commands.extend(self._update(command, row, part))
        for part in parts:
            part.links = [link for link in part.links if link.fields or link.status is not UNSET]
            if part.is_done:
                part.commands = []
        return parts

    def _create(self, command: CreateEntry, row: PreviewRow, part: Part) -> CreateEntry:
        entry_id = command.entry_id or ""
        later = self._take(entry_id, command.fields, row, part)
        link = self._links.get(entry_id)
        status = command.status
        if link is not None:
            link.version = 1
            if status == "published" and self._needs(link):
                link.status, status = status, "draft"
        now = {slug: value for slug, value in command.fields.items() if slug not in later}
        return replace(command, fields=now, status=status)

    def _update(self, command: UpdateEntry, row: PreviewRow, part: Part) -> list[UpdateEntry]:
        """The command, or none if everything that the row changes is set later."""
        entry_id, later = command.entry_id, self._take(command.entry_id, command.fields, row, part)
        link, status = self._links.get(entry_id), command.status
        expected = (command.expected_version or 0) - self._missed[entry_id]
        if link is not None and status is not UNSET:
            waits = status == "published" and self._needs(link)
            link.status, status = (status, UNSET) if waits else (UNSET, status)
        changed = set(row.changed) - later - ({"Status"} if status is UNSET else set())
        is_done = part.is_done and entry_id not in self._made_in
        if not changed or is_done:
            self._missed[entry_id] += 1
        elif link is not None:
            link.version = expected + 1
        if link is not None and not link.version:
            link.version = expected
        now = {slug: value for slug, value in command.fields.items() if slug not in later}
        found = replace(command, fields=now, status=status, expected_version=expected)
        return [found] if changed else []

    def _take(self, entry_id: str, values: dict[str, Raw], row: PreviewRow, part: Part) -> set[str]:
        """The fields that are set later, kept in the entry's link; other values replace them.

        If a part is already imported, the link has all its references, because it is not known
        which of them referred to later parts then.
        """
        found = [
            target
            for target in targets(self._fields.values(), values)
            if target.is_entry and target.path in self._fields
        ]
        later = {each.path for each in found if self._made_in.get(each.id, 0) > part.number}
        linked = {each.path for each in found} if part.is_done else later
        link = self._links.get(entry_id)
        if linked and link is None:
            link = self._links[entry_id] = Link(row, entry_id)
            part.links.append(link)
        if link is not None:
            for slug, value in values.items():
                link.fields.pop(slug, None)
                if slug in linked:
                    link.fields[slug] = value
        return later

    def _needs(self, link: Link) -> bool:
        """Whether the entry cannot be published without the values that are set later."""
        return any(self._fields[slug].required for slug in link.fields)
