"""Which entry had a slug at a time: the entry itself is the log's to tell."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from read_side.pool import Pool, fetch
from read_side.refusals import EntryNotFound, TypeNotFound
from read_side.statements import statement

_HOLDER = statement("holder")


class Holder(Struct, frozen=True):
    type_id: str
    entry_id: str


async def holder(
    pool: Pool,
    workspace: str,
    environment: str,
    *,
    type_slug: str,
    slug: str,
    language: str,
    at: datetime,
) -> Holder:
    """The content type and the entry that had these slugs then, as far as the log is projected.

    Raises TypeNotFound, EntryNotFound.
    """
    records = await fetch(pool, _HOLDER, workspace, environment, type_slug, language, slug, at)
    if not records:
        raise TypeNotFound
    if records[0]["id"] is None:
        raise EntryNotFound
    return Holder(records[0]["type_id"], records[0]["id"])
