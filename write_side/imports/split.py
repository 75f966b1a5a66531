"""Imports a file as several imports, one after another: resumable, and reverted together.

The import ids of all parts are derived from the given one. Started again under the same id, the
import continues with the missing parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import Status
from write_side.domain.refusals import Refused, StaleDecision, count
from write_side.domain.values import NULL, is_empty
from write_side.handlers.imports import check_same_import
from write_side.imports.check import DryRun, check
from write_side.imports.importer import (
    ATTEMPTS,
    KEEP_CHANGING,
    OVERTAKEN,
    ImportRun,
    RepeatsUndecided,
    check_importable,
)
from write_side.imports.preview import Preview, PreviewRow
from write_side.imports.request import ImportRequest
from write_side.imports.split_parts import (
    MOST_PARTS,
    PART_ROWS,
    Link,
    Part,
    Recorded,
    links_id,
    part_id,
    plan,
    recorded_parts,
    split_fingerprint,
)
from write_side.repository import Repository


class ImportStopped(Refused):
    """Parts of the file cannot be imported, and others were."""


class SplitReport(Struct, frozen=True):
    """``import_ids``: of the parts in the log, in its order. ``changed_since``: rows whose
    references were not set, because their entry was changed in the meantime."""

    preview: Preview
    import_ids: tuple[str, ...]
    at: datetime
    position: int
    replayed: bool
    changed_since: tuple[PreviewRow, ...]


Outcome: TypeAlias = Literal["imported", "already imported", "nothing to import"]
Progress: TypeAlias = Callable[[int, int, Outcome], None]
"""Called for each part with its number, the number of all parts, and its outcome."""


async def run_split(
    whole: ImportRun, progress: Progress, part_rows: int = PART_ROWS
) -> SplitReport:
    """Imports the rows that are ready, part by part.

    Raises RowsRefused and RepeatsUndecided before anything is imported, ImportStopped,
    StaleDecision if its entries keep changing, and what ``check`` raises.
    """
    fingerprint = await asyncio.to_thread(split_fingerprint, whole.table, whole.request)
    split = _SplitRun(whole, fingerprint, progress, part_rows)
    for _ in range(ATTEMPTS):
        if report := await split.attempt():
            return report
    raise StaleDecision(KEEP_CHANGING)


async def parts_before(
    repository: Repository, request: ImportRequest, fingerprint: str
) -> Recorded:
    """The parts that are already imported. ``fingerprint``: see ``split_fingerprint``. Raises
    ImportIdTaken, FileMismatch, and ImportStopped if the parts were reverted or had different
    options, or if the id belongs to an import that was not split."""
    if await repository.find_import(request.import_id) is not None:
        raise ImportStopped(
            f"import id {request.import_id!r} was used for an import that was not split; choose "
            "another id"
        )
    scope, slug = request.scope, request.content_type_slug
    file, _, options = fingerprint.partition("-")
    content_type = await repository.fresh_content_type(scope, slug)
    recorded = await recorded_parts(repository, request.import_id)
    for import_id, (import_event, _) in recorded.items():
        file_before, _, options_before = import_event.fingerprint.partition("-")
        of_file = replace(import_event, fingerprint=file_before)
        check_same_import(of_file, request.import_id, scope, content_type, file)
        # Earlier versions of contentlog recorded the language, and none of the other options.
        if options_before not in ("", options) or import_event.language != request.language:
            raise ImportStopped(
                f"import {request.import_id!r} was started with different options, or the fields "
                "have changed: continue it with the options of its first run (only --ready-only "
                "may differ), and map new fields' columns with --map"
            )
        if await repository.find_revert(import_id) is not None:
            raise ImportStopped(
                f"import {request.import_id!r} was reverted; to import the file again, use "
                "another import id"
            )
    return recorded


class _SplitRun(Struct):
    whole: ImportRun
    fingerprint: str
    progress: Progress
    part_rows: int
    has_appended: bool = False

    async def attempt(self) -> SplitReport | None:
        """None if the log changed between the check and an append."""
        repository, request = self.whole.repository, self.whole.request
        recorded = await parts_before(repository, request, self.fingerprint)
        dry_run = await check(repository, self.whole.table, request, resumes=True)
        if dry_run.preview.is_undecided(request):
            raise RepeatsUndecided(dry_run.preview)
        if not recorded:
            check_importable(dry_run.preview, request)
        errors = dry_run.preview.counts.error
        if errors and not request.ready_only:
            raise ImportStopped(
                f"{count(errors, 'row has', 'rows have')} errors, and other parts of the file are "
                "already imported: correct what they refer to, or revert the import"
            )
        numbers = range(1, 1 + MOST_PARTS)
        done = {n for n in numbers if part_id(request.import_id, n) in recorded}
        parts = plan(dry_run, done, self.part_rows)
        try:
            changed = await self._append(parts, dry_run.content_type, recorded)
        except OVERTAKEN:
            return None
        return await self._report(dry_run, changed)

    async def _append(
        self, parts: Sequence[Part], content_type: ContentType, recorded: Recorded
    ) -> list[PreviewRow]:
        """The rows whose references were not set."""
        for part in parts:
            if part.commands:
                own_id = part_id(self.whole.request.import_id, part.number)
                name = f"({part.number} of {len(parts)})"
                await self._import(own_id, name, part.commands, part.rows)
            self.progress(part.number, len(parts), _outcome(part))
        changed: list[PreviewRow] = []
        for part in parts:
            own_id = links_id(self.whole.request.import_id, part.number)
            if part.links and own_id not in recorded:
                commands, left = await self._linked(part.links, content_type)
                changed += left
                if commands:
                    name = f"(references of {part.number} of {len(parts)})"
                    linked = {command.entry_id for command in commands}
                    rows = [link.row for link in part.links if link.entry_id in linked]
                    await self._import(own_id, name, commands, rows)
        return changed

    async def _linked(
        self, links: Sequence[Link], content_type: ContentType
    ) -> tuple[list[UpdateEntry], list[PreviewRow]]:
        """The commands, and the rows of entries that were changed in the meantime."""
        ids = [link.entry_id for link in links]
        scope = self.whole.request.scope
        entries = await self.whole.repository.entries(scope, ids)
        commands, left = [], []
        for link in links:
            entry = entries.get(link.entry_id)
            if entry is None:
                left.append(link.row)
                continue
            fields, status = _missing(entry, link)
            if entry.version != link.version and not _is_free(entry, fields, content_type):
                left += [link.row] if fields else []
            elif fields or status is not UNSET:
                commands.append(
                    UpdateEntry(
                        actor=self.whole.by,
                        scope=scope,
                        entry_id=entry.id,
                        fields=fields,
                        status=status,
                        expected_version=entry.version,
                    )
                )
        return commands, left

    async def _import(
        self,
        import_id: str,
        name: str,
        commands: Sequence[CreateEntry | UpdateEntry],
        rows: Sequence[PreviewRow],
    ) -> None:
        table = replace(self.whole.table, name=f"{self.whole.table.name} {name}")
        request = replace(self.whole.request, import_id=import_id)
        part = replace(self.whole, table=table, request=request)
        actor = request.actor(table.name)
        own = [replace(each, actor=actor) for each in commands]
        await part.append(own, tuple(rows), self.fingerprint)
        self.has_appended = True

    async def _report(self, dry_run: DryRun, changed: Sequence[PreviewRow]) -> SplitReport:
        repository, import_id = self.whole.repository, self.whole.request.import_id
        recorded = await recorded_parts(repository, import_id)
        found = sorted(recorded.items(), key=lambda one: one[1][1].position)
        return SplitReport(
            preview=dry_run.preview,
            import_ids=tuple(part for part, _ in found),
            at=await repository.recorder.time(),
            position=max((appended.last for _, (_, appended) in found), default=0),
            replayed=bool(found) and not self.has_appended,
            changed_since=tuple(changed),
        )


def _outcome(part: Part) -> Outcome:
    if part.is_done:
        return "already imported"
    return "imported" if part.commands else "nothing to import"


def _missing(entry: Entry, link: Link) -> tuple[dict[str, Raw], Status | UnsetType]:
    """The values of the link that the entry does not have."""
    fields = {
        slug: value for slug, value in link.fields.items() if entry.fields.get(slug, NULL) != value
    }
    return fields, UNSET if link.status == entry.status else link.status


def _is_free(entry: Entry, slugs: Collection[str], content_type: ContentType) -> bool:
    """Whether the fields still have no value."""
    fields = [field for field in content_type.value_fields if field.slug in slugs]
    return bool(fields) and all(
        is_empty(field, entry.fields.get(field.slug, NULL)) for field in fields
    )
