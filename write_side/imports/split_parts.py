"""The record of a split import in the log, and its revert."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from write_side.domain.events import ImportRecorded
from write_side.domain.identity import Actor, Scope, derived_id, import_stream
from write_side.domain.refusals import UnknownImport
from write_side.imports.report import RevertReport, RevertReportEntry, revert_import
from write_side.imports.request import ImportRequest
from write_side.imports.table import LIMITS, SPLIT_LIMITS, Table, fingerprint_of
from write_side.repository import Repository
from write_side.store.append import Appended

MOST_PARTS = SPLIT_LIMITS.rows // LIMITS.rows
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
