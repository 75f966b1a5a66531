"""How a file of more rows than an import takes is split into several imports.

The whole file is checked at once, so its rows may refer to one another and repeat slugs across
parts. References point to existing entries at every position of the log: a field that refers to an
entry of a later part is unchanged at first, and set by a final step after all parts are imported.
If such a field is required, that step also publishes the entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.structs import replace

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.events import Status
from write_side.domain.values import targets
from write_side.imports.check import DryRun
from write_side.imports.preview import PreviewRow
from write_side.imports.table import LIMITS

PART_ROWS = LIMITS.rows


class Link(Struct):
    """The values that are set in an entry after all parts are imported. ``version``: the one that
    it then has, unless it was changed in the meantime."""

    row: PreviewRow
    entry_id: str
    fields: dict[str, Raw] = field(default_factory=dict)
    status: Status | UnsetType = UNSET
    version: int = 0


class Part(Struct):
    """``is_done``: whether it is already imported, and so has no commands."""

    number: int
    is_done: bool
    rows: list[PreviewRow] = field(default_factory=list)
    commands: list[CreateEntry | UpdateEntry] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


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
