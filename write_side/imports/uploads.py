"""Uploaded files that are not imported yet, stored in the event store's database.

An upload belongs to a workspace and environment. It is kept for a day; each workspace keeps its
newest 20 uploads and 128 MB.
"""

from __future__ import annotations

import asyncio
import zlib
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from write_side.domain.identity import Scope, is_id, new_id
from write_side.domain.refusals import UnknownUpload
from write_side.imports.file_reader import Charge, no_charge, read_file
from write_side.imports.preview import Preview
from write_side.imports.request import ImportRequest
from write_side.imports.table import (
    NO_CHOICE,
    Choice,
    EncodedTable,
    Table,
    decode_table,
    encode_table,
)
from write_side.repository import Repository

MOST = 20
MOST_BYTES = 128 * 1024 * 1024
T = TypeVar("T")

_PUT = """
INSERT INTO write_side.upload (id, workspace, environment, file_name, document, reading, parsed)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING"""
_MAKE_ROOM = """
DELETE FROM write_side.upload WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS n,
               sum(octet_length(document) + octet_length(parsed)) OVER newest AS bytes
        FROM write_side.upload WHERE workspace = $1
        WINDOW newest AS (ORDER BY at DESC, id DESC)
    ) AS kept WHERE n > 1 AND (n > $2 OR bytes > $3))"""
_FIND = """
SELECT reading, parsed FROM write_side.upload
WHERE id = $1 AND (workspace, environment) = ($2, $3)
  AND at > now() - write_side.upload_lifetime()"""
_DOCUMENT = """
SELECT file_name, document FROM write_side.upload
WHERE id = $1 AND (workspace, environment) = ($2, $3)"""
_PREVIEW = """
SELECT preview FROM write_side.upload
WHERE id = $1 AND (workspace, environment) = ($2, $3)"""
_READ_AGAIN = """
UPDATE write_side.upload SET reading = $4, parsed = $5, preview = NULL
WHERE id = $1 AND (workspace, environment) = ($2, $3)"""
_KEEP_PREVIEW = """
UPDATE write_side.upload SET preview = $4
WHERE id = $1 AND (workspace, environment) = ($2, $3) RETURNING id"""
_UNFINISHED = """
SELECT id::text, file_name, at, preview IS NOT NULL AS is_checked FROM write_side.upload
WHERE (workspace, environment) = ($1, $2) AND at > now() - write_side.upload_lifetime()
ORDER BY at DESC, id DESC"""
_DROP = "DELETE FROM write_side.upload WHERE id = $1 AND (workspace, environment) = ($2, $3)"


class Upload(Struct, frozen=True):
    """``id`` is also the import id: an upload is imported once."""

    id: str
    choice: Choice
    table: Table


class UnfinishedUpload(Struct, frozen=True):
    """``is_checked``: whether it has a preview."""

    id: str
    file_name: str
    at: datetime
    is_checked: bool


class StoredPreview(Struct, frozen=True):
    """The preview of an upload, and the request it was made for."""

    request: ImportRequest
    preview: Preview


async def keep_upload(
    repository: Repository,
    scope: Scope,
    file_name: str,
    document: bytes,
    choice: Choice = NO_CHOICE,
    *,
    charge: Charge = no_charge,
) -> Upload:
    """``charge``: see ``read_file``. Raises FileRefused."""
    table, reading = await _read(document, file_name, choice, charge)
    upload_id = new_id()
    row = (upload_id, *astuple(scope), table.name, document, *reading)
    await repository.recorder.fetch(_PUT, *row)
    await repository.recorder.fetch(_MAKE_ROOM, scope.workspace, MOST, MOST_BYTES)
    return Upload(upload_id, choice, table)


async def find_upload(repository: Repository, scope: Scope, upload_id: str) -> Upload:
    """A request about one upload calls this first, because the functions that take its id do not
    check its age. Raises UnknownUpload, also for another workspace or environment."""
    row = await _row(repository, _FIND, scope, upload_id)
    try:
        encoded = await asyncio.to_thread(_decompressed, row["parsed"], EncodedTable)
        table = await asyncio.to_thread(decode_table, encoded)
    except msgspec.DecodeError:
        # Written by another version of the service.
        raise UnknownUpload from None
    choice = msgspec.json.decode(row["reading"], type=Choice)
    return Upload(upload_id, choice, table)


async def unfinished_uploads(repository: Repository, scope: Scope) -> list[UnfinishedUpload]:
    """The uploads that can still be imported, the newest first."""
    rows = await repository.recorder.fetch(_UNFINISHED, *astuple(scope))
    return [UnfinishedUpload(**row) for row in rows]


async def read_again(
    repository: Repository,
    scope: Scope,
    upload_id: str,
    choice: Choice,
    *,
    charge: Charge = no_charge,
) -> None:
    """Reads another sheet, or uses another encoding or delimiter. Raises UnknownUpload,
    FileRefused; the earlier table is then kept."""
    row = await _row(repository, _DOCUMENT, scope, upload_id)
    _, reading = await _read(row["document"], row["file_name"], choice, charge)
    await repository.recorder.fetch(_READ_AGAIN, upload_id, *astuple(scope), *reading)


async def keep_preview(
    repository: Repository, scope: Scope, upload_id: str, request: ImportRequest, preview: Preview
) -> None:
    """Stores the preview, so that its pages and filters need no new check. Raises UnknownUpload."""
    compressed = await asyncio.to_thread(_compressed, StoredPreview(request, preview))
    await _row(repository, _KEEP_PREVIEW, scope, upload_id, compressed)


async def find_preview(
    repository: Repository, scope: Scope, upload_id: str
) -> StoredPreview | None:
    """The latest preview. Raises UnknownUpload."""
    row = await _row(repository, _PREVIEW, scope, upload_id)
    if row["preview"] is None:
        return None
    return await asyncio.to_thread(_decompressed, row["preview"], StoredPreview)


async def drop_upload(repository: Repository, scope: Scope, upload_id: str) -> None:
    if is_id(upload_id):
        await repository.recorder.fetch(_DROP, upload_id, *astuple(scope))


def samples(table: Table) -> list[list[str]]:
    """The first three distinct cells of each column that are not blank."""
    found: list[dict[str, None]] = [{} for _ in table.headings]
    for row in table.rows:
        for seen, cell in zip(found, row.cells, strict=True):
            if len(seen) < 3 and cell.strip():
                seen[cell] = None
    return [list(seen) for seen in found]


async def _read(
    document: bytes, file_name: str, choice: Choice, charge: Charge
) -> tuple[Table, tuple[str, bytes]]:
    """The table, and the columns ``reading`` and ``parsed`` that store it."""
    table = await read_file(document, file_name, choice, charge=charge)
    parsed = await asyncio.to_thread(lambda: _compressed(encode_table(table)))
    return table, (msgspec.json.encode(choice).decode(), parsed)


async def _row(
    repository: Repository, statement: str, scope: Scope, upload_id: str, *more: bytes
) -> Any:
    rows = []
    if is_id(upload_id):
        rows = await repository.recorder.fetch(statement, upload_id, *astuple(scope), *more)
    if not rows:
        raise UnknownUpload
    return rows[0]


def _compressed(value: Struct) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), 1)


def _decompressed(document: bytes, kind: type[T]) -> T:
    return msgspec.msgpack.decode(zlib.decompress(document), type=kind)
