"""Files between being uploaded and being imported, kept in the event store.

The processes of the API keep nothing from one request to the next. An upload is a workspace's and
an environment's; it is kept for a day, and of a workspace's the newest 20 and 128 MB.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from write_side.domain.identity import Scope, is_id, new_id
from write_side.domain.refusals import UnknownUpload
from write_side.imports.files import NO_CHOICE, Choice, Table
from write_side.imports.packing import Packed, packed, unpacked
from write_side.imports.preview import Preview
from write_side.imports.reading import read_file
from write_side.imports.wish import Wish
from write_side.repository import Repository

MOST = 20
MOST_BYTES = 128 * 1024 * 1024
T = TypeVar("T")

_PUT = """
INSERT INTO write_side.upload (id, workspace, environment, file_name, document, reading, parsed)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET at = upload.at RETURNING at"""
_MAKE_ROOM = """
DELETE FROM write_side.upload WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS n,
               sum(octet_length(document) + octet_length(parsed)) OVER newest AS bytes
        FROM write_side.upload WHERE workspace = $1
        WINDOW newest AS (ORDER BY at DESC, id DESC)
    ) AS kept WHERE n > 1 AND (n > $2 OR bytes > $3))"""
_FIND = """
SELECT file_name, reading, parsed, at FROM write_side.upload
WHERE id = $1 AND (workspace, environment) = ($2, $3) AND at > now() - interval '24 hours'"""
_DOCUMENT = """
SELECT file_name, document, at FROM write_side.upload
WHERE id = $1 AND (workspace, environment) = ($2, $3) AND at > now() - interval '24 hours'"""
_PREVIEW = """
SELECT preview FROM write_side.upload
WHERE id = $1 AND (workspace, environment) = ($2, $3) AND at > now() - interval '24 hours'"""
_READ_AGAIN = """
UPDATE write_side.upload SET reading = $4, parsed = $5, preview = NULL
WHERE id = $1 AND (workspace, environment) = ($2, $3)"""
_KEEP_PREVIEW = """
UPDATE write_side.upload SET preview = $4
WHERE id = $1 AND (workspace, environment) = ($2, $3) RETURNING id"""
_DROP = "DELETE FROM write_side.upload WHERE id = $1 AND (workspace, environment) = ($2, $3)"


class Upload(Struct, frozen=True):
    """``id`` is the id of the import that is made of it: a file is imported once."""

    id: str
    choice: Choice
    table: Table
    at: datetime

    @property
    def file_name(self) -> str:
        return self.table.name


class Previewed(Struct, frozen=True):
    """What was shown of an upload, and for which wish."""

    wish: Wish
    preview: Preview


async def keep_upload(
    repository: Repository,
    scope: Scope,
    file_name: str,
    document: bytes,
    choice: Choice = NO_CHOICE,
) -> Upload:
    """Raises FileRefused."""
    table = await read_file(document, file_name, choice)
    upload_id = new_id()
    parsed = await asyncio.to_thread(_packed_table, table)
    reading = msgspec.json.encode(choice).decode()
    row = (upload_id, *_place(scope), table.name, document, reading, parsed)
    rows = await repository.recorder.fetch(_PUT, *row)
    await repository.recorder.fetch(_MAKE_ROOM, scope.workspace, MOST, MOST_BYTES)
    return Upload(upload_id, choice, table, rows[0]["at"])


async def find_upload(repository: Repository, scope: Scope, upload_id: str) -> Upload:
    """Raises UnknownUpload, for one of another place too."""
    row = await _row(repository, _FIND, scope, upload_id)
    try:
        table = await asyncio.to_thread(_unpacked_table, row["parsed"])
    except msgspec.DecodeError:
        # Another version of ours has written it, yesterday.
        raise UnknownUpload from None
    choice = msgspec.json.decode(row["reading"], type=Choice)
    return Upload(upload_id, choice, table, row["at"])


async def read_again(
    repository: Repository, scope: Scope, upload_id: str, choice: Choice
) -> Upload:
    """Read another sheet, or with another encoding or delimiter. Raises UnknownUpload, FileRefused;
    what was read before is kept then."""
    row = await _row(repository, _DOCUMENT, scope, upload_id)
    table = await read_file(row["document"], row["file_name"], choice)
    parsed = await asyncio.to_thread(_packed_table, table)
    reading = msgspec.json.encode(choice).decode()
    await repository.recorder.fetch(_READ_AGAIN, upload_id, *_place(scope), reading, parsed)
    return Upload(upload_id, choice, table, row["at"])


async def keep_preview(
    repository: Repository, scope: Scope, upload_id: str, wish: Wish, preview: Preview
) -> None:
    """Keep what is shown, so that pages and filters of it need no new check. Raises
    UnknownUpload."""
    packed = await asyncio.to_thread(_packed, Previewed(wish, preview))
    if is_id(upload_id):
        place = (upload_id, *_place(scope))
        if await repository.recorder.fetch(_KEEP_PREVIEW, *place, packed):
            return
    raise UnknownUpload


async def find_preview(repository: Repository, scope: Scope, upload_id: str) -> Previewed | None:
    """What was shown last. Raises UnknownUpload."""
    row = await _row(repository, _PREVIEW, scope, upload_id)
    if row["preview"] is None:
        return None
    return await asyncio.to_thread(_unpacked, row["preview"], Previewed)


async def drop_upload(repository: Repository, scope: Scope, upload_id: str) -> None:
    if is_id(upload_id):
        await repository.recorder.fetch(_DROP, upload_id, *_place(scope))


def samples(table: Table, most: int = 3) -> list[list[str]]:
    """The first different cells of each column that are not blank."""
    found: list[dict[str, None]] = [{} for _ in table.headings]
    for row in table.rows:
        for seen, cell in zip(found, row.cells, strict=True):
            if len(seen) < most and cell.strip():
                seen[cell] = None
    return [list(seen) for seen in found]


async def _row(repository: Repository, statement: str, scope: Scope, upload_id: str) -> Any:
    rows = []
    if is_id(upload_id):
        rows = await repository.recorder.fetch(statement, upload_id, *_place(scope))
    if not rows:
        raise UnknownUpload
    return rows[0]


def _place(scope: Scope) -> Sequence[str]:
    return (scope.workspace, scope.environment)


def _packed_table(table: Table) -> bytes:
    return _packed(packed(table))


def _unpacked_table(parsed: bytes) -> Table:
    return unpacked(_unpacked(parsed, Packed))


def _packed(value: Struct) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), 1)


def _unpacked(packed: bytes, kind: type[T]) -> T:
    return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)
