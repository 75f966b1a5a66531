"""The other content of an environment: languages, locales, media, imports; and the webhook
endpoints of all workspaces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from read_side.pool import Pool, fetch
from read_side.refusals import MediaFileNotFound
from write_side.domain.identity import Scope
from write_side.domain.webhook import Name, Webhook

_WEB = re.compile("https?://", re.IGNORECASE)
_SOURCE = re.compile(
    r"https?://[a-z0-9.-]+(:[0-9]{1,5})?(?=[/?#]|\Z)|data:(?=image/)", re.IGNORECASE | re.ASCII
)


class MediaFile(Struct, frozen=True):
    id: str
    name: str
    url: str
    content_type: str

    @property
    def is_linkable(self) -> bool:
        """URLs may be paths or ``data:``; old ones may have any scheme, such as ``javascript:``."""
        return _WEB.match(self.url) is not None

    @property
    def image_source(self) -> str | None:
        """The source that allows this image in a Content-Security-Policy: its scheme and host, or
        ``data:``. None for other files, and for hosts that a policy cannot name."""
        if not self.content_type.startswith("image/"):
            return None
        source = _SOURCE.match(self.url)
        return source[0] if source else None


class MediaPage(Struct, frozen=True):
    """``total``: of the whole library."""

    files: list[MediaFile]
    total: int


class ImportRun(Struct, frozen=True, kw_only=True):
    id: str
    file_name: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    failed: int
    imported_by: str
    imported_at: datetime
    reverted_at: datetime | None = None


class ListedImport(ImportRun, frozen=True, kw_only=True):
    type_name: str


async def media_files(pool: Pool, workspace: str, ids: Collection[str]) -> dict[str, MediaFile]:
    """The files by id; those that are not in the library are absent."""
    return (await read_media_files(pool, workspace, ids))[0] if ids else {}


async def read_media_files(
    pool: Pool, workspace: str, ids: Collection[str]
) -> tuple[dict[str, MediaFile], int]:
    """The same, and the stamp of the checkpoint at which they were read."""
    records = await fetch(pool, "media_files", workspace, list(ids))
    return {file.id: file for file in media_of(records)}, records[0]["stamp"]


def media_of(records: Iterable[Any]) -> list[MediaFile]:
    """The files of the records, without the row of nulls that stands for no file."""
    return [
        MediaFile(*(record[column] for column in MediaFile.__struct_fields__))
        for record in records
        if record["id"] is not None
    ]


async def media_page(pool: Pool, workspace: str, *, limit: int, offset: int) -> MediaPage:
    """A page of the files, ordered by id; empty past the end."""
    records = await fetch(pool, "media_page", workspace, limit, offset)
    return MediaPage(media_of(records), records[0]["total"])


async def media_file(pool: Pool, workspace: str, media_id: str) -> MediaFile:
    """Raises MediaFileNotFound."""
    found = await media_files(pool, workspace, [media_id])
    if media_id not in found:
        raise MediaFileNotFound
    return found[media_id]


async def import_runs(pool: Pool, scope: Scope, *, limit: int, offset: int) -> list[ListedImport]:
    """Past imports, the latest first."""
    records = await fetch(pool, "import_runs", scope.workspace, scope.environment, limit, offset)
    return [ListedImport(**record) for record in records]


async def languages(pool: Pool, scope: Scope, status: str | None = None) -> dict[str, int]:
    """The languages of the entries of one status, or of all, with the number of entries."""
    records = await fetch(pool, "languages", scope.workspace, scope.environment, status)
    return {record["code"]: record["total"] for record in records}


async def locales(pool: Pool, scope: Scope, status: str | None = None) -> dict[str, int]:
    """The locales into which entries of one status, or all, are translated, with the number of
    translations."""
    records = await fetch(pool, "locales", scope.workspace, scope.environment, status)
    return {record["code"]: record["total"] for record in records}


async def workspace_name(pool: Pool, slug: str) -> str | None:
    records = await fetch(pool, "workspace_name", slug)
    return records[0]["name"] if records else None


class WebhooksMark(Struct, frozen=True):
    """Changes whenever an endpoint changes."""

    endpoints: int
    position: int


async def webhooks(pool: Pool) -> list[Webhook]:
    """All of them. Raises ReadModelUnavailable."""
    return [msgspec.convert(dict(row), Webhook) for row in await fetch(pool, "webhooks")]


async def webhooks_waiting(pool: Pool, cursors: Mapping[Name, int]) -> dict[Name, float]:
    """For each endpoint that is on and has a change to deliver after its cursor: the seconds since
    the oldest one. Raises ReadModelUnavailable."""
    rows = await fetch(
        pool,
        "webhooks_waiting",
        [workspace for workspace, _ in cursors],
        [name for _, name in cursors],
        list(cursors.values()),
    )
    return {(row["workspace"], row["name"]): row["seconds"] for row in rows}


async def webhooks_mark(pool: Pool) -> WebhooksMark:
    """Raises ReadModelUnavailable."""
    [row] = await fetch(pool, "webhooks_mark")
    return WebhooksMark(**row)
