"""Which entries: the ids of a page, or of a slug, over narrow keys alone.

What the entries say is read by ``entries.by_ids``, at once with others that are asked for.
"""

from __future__ import annotations

from msgspec import Struct

from read_side.pool import Pool, fetch
from read_side.refusals import EntryNotFound, TypeNotFound
from read_side.statements import statement

_OF_SLUG = statement("id_of_slug")
_NEWEST = statement("ids_newest")
_NEWEST_OF_TYPE = statement("ids_newest_of_type")
_SELECTED = statement("ids_selected")


class IdPage(Struct, frozen=True):
    """``total`` counts all that match, whatever the page."""

    ids: list[str]
    total: int


async def of_slug(
    pool: Pool, workspace: str, environment: str, *, type_slug: str, slug: str, language: str
) -> str:
    """Raises TypeNotFound and EntryNotFound."""
    records = await fetch(pool, _OF_SLUG, workspace, environment, type_slug, language, slug)
    if not records:
        raise TypeNotFound
    if records[0]["id"] is None:
        raise EntryNotFound
    found: str = records[0]["id"]
    return found


async def page(
    pool: Pool,
    workspace: str,
    environment: str,
    *,
    type_slug: str | None,
    status: str | None,
    language: str | None,
    limit: int,
    offset: int,
) -> IdPage:
    """Newest created first; None is any. Raises TypeNotFound for a type that there is not."""
    where = (workspace, environment, limit, offset)
    if status is not None or language is not None:
        records = await fetch(pool, _SELECTED, *where, type_slug, status, language)
    elif type_slug is not None:
        records = await fetch(pool, _NEWEST_OF_TYPE, *where, type_slug)
    else:
        records = await fetch(pool, _NEWEST, *where)
    if not records and type_slug is not None:
        raise TypeNotFound
    # Where the page is empty it is one row of nulls beside the total.
    return IdPage(
        [record["id"] for record in records if record["id"] is not None],
        records[0]["total"] if records else 0,
    )
