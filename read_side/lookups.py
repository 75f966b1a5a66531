"""The other content of an environment: languages, locales, media, imports."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from urllib.parse import urlsplit

from msgspec import Struct

from read_side.pool import Pool, fetch
from write_side.domain.identity import Scope
from write_side.postgres.statements import statement

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?", re.ASCII)
_MEDIA = statement("read_side", "media_files")
_IMPORTS = statement("read_side", "import_runs")
_LANGUAGES = statement("read_side", "languages")
_LOCALES = statement("read_side", "locales")
_WORKSPACE = statement("read_side", "workspace_name")


class MediaFile(Struct, frozen=True):
    id: str
    name: str
    url: str
    content_type: str

    @property
    def is_linkable(self) -> bool:
        """The library accepts any text as a URL, including ``javascript:``."""
        return urlsplit(self.url).scheme in ("http", "https")

    @property
    def image_origin(self) -> str | None:
        """The scheme and host of an image; None for other files, and for hosts that no
        Content-Security-Policy can name."""
        origin = urlsplit(self.url)._replace(path="", query="", fragment="").geturl()
        is_image = self.content_type.startswith("image/")
        return origin if is_image and _ORIGIN.fullmatch(origin) else None


class ImportRun(Struct, frozen=True):
    id: str
    file_name: str
    type_name: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    failed: int
    imported_by: str
    imported_at: datetime
    reverted_at: datetime | None


async def media_files(pool: Pool, workspace: str, ids: Collection[str]) -> dict[str, MediaFile]:
    """By id; files that are not in the library are absent."""
    records = await fetch(pool, _MEDIA, workspace, list(ids)) if ids else []
    return {record["id"]: MediaFile(**record) for record in records}


async def import_runs(pool: Pool, scope: Scope, *, limit: int, offset: int) -> list[ImportRun]:
    """Past imports, the latest first."""
    records = await fetch(pool, _IMPORTS, scope.workspace, scope.environment, limit, offset)
    return [ImportRun(**record) for record in records]


async def languages(pool: Pool, scope: Scope) -> list[str]:
    """The languages in which entries are written."""
    records = await fetch(pool, _LANGUAGES, scope.workspace, scope.environment)
    return [record["language"] for record in records]


async def locales(pool: Pool, scope: Scope) -> list[str]:
    """The locales into which entries are translated."""
    records = await fetch(pool, _LOCALES, scope.workspace, scope.environment)
    return [record["locale"] for record in records]


async def workspace_name(pool: Pool, slug: str) -> str | None:
    records = await fetch(pool, _WORKSPACE, slug)
    return records[0]["name"] if records else None
