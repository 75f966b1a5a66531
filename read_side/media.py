"""The media library of a workspace, page by page."""

from __future__ import annotations

from msgspec import Struct

from read_side.lookups import MediaFile, media_files, media_of
from read_side.pool import Pool, fetch
from read_side.refusals import MediaFileNotFound
from write_side.postgres.statements import statement

_PAGE = statement("read_side", "media_page")


class MediaPage(Struct, frozen=True):
    """``total``: of the whole library."""

    files: list[MediaFile]
    total: int


async def media_page(pool: Pool, workspace: str, *, limit: int, offset: int) -> MediaPage:
    """By id; an empty page past the end."""
    records = await fetch(pool, _PAGE, workspace, limit, offset)
    return MediaPage(media_of(records), records[0]["total"])


async def media_file(pool: Pool, workspace: str, media_id: str) -> MediaFile:
    """Raises MediaFileNotFound."""
    found = await media_files(pool, workspace, [media_id])
    if media_id not in found:
        raise MediaFileNotFound
    return found[media_id]
