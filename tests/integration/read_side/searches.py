"""Searches in a read model, and the kinds of entries that it has."""

from __future__ import annotations

from collections.abc import Collection

from read_side.search import Kind, SearchResult, search
from tests.integration.live_projector import connected
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection

SCOPE = Scope("acme", "production")
_KINDS = """
SELECT content_type_id::text, status, language FROM read_model.entry_count
WHERE workspace = $1 AND environment = $2 AND filters = 3 AND level = 0"""
_SLUGS = """
SELECT position, slug FROM read_model.entry WHERE workspace = $1 AND environment = $2"""


async def kinds_of(connection: Connection, scope: Scope) -> list[Kind]:
    rows = await connection.fetch(_KINDS, scope.workspace, scope.environment)
    return [tuple(row) for row in rows]


async def searched(
    url: str,
    text: str,
    locale: str = "",
    *,
    scope: Scope = SCOPE,
    statuses: Collection[str] = ("published", "draft", "archived"),
) -> SearchResult:
    async with connected(url) as connection:
        kinds = [kind for kind in await kinds_of(connection, scope) if kind[1] in statuses]
        return await search(connection.fetch, scope, text, kinds, locale)


async def found_slugs(
    url: str, text: str, locale: str = "", *, scope: Scope = SCOPE, by_rank: bool = False
) -> list[str]:
    """The slugs of the entries, newest first or by rank."""
    found = await searched(url, text, locale, scope=scope)
    positions = found.positions
    if by_rank:
        ranked = sorted(zip(found.ranks, positions, strict=True), reverse=True)
        positions = [position for _, position in ranked]
    async with connected(url) as connection:
        rows = await connection.fetch(_SLUGS, scope.workspace, scope.environment)
    slugs = {row["position"]: row["slug"] for row in rows}
    return [slugs[position] for position in positions]
