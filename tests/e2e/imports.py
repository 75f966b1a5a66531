"""Sends an import that can be repeated, and counts its events in the log."""

from __future__ import annotations

import asyncpg

from write_side.domain.identity import Actor, Scope
from write_side.imports.csv_reader import csv_table
from write_side.imports.importer import ImportRun, run_import
from write_side.imports.request import ImportRequest
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

SCOPE = Scope("acme", "production")
CONTENT_TYPE = "posts"
ROWS = 60
EVENTS = ROWS + 1
_OF_IMPORT = """
SELECT count(*) AS events FROM write_side.event WHERE state::json -> 'actor' ->> 'id' = $1"""


async def send(url: str, import_id: str) -> None:
    """Imports new entries, and one shared entry that every import updates."""
    rows = "".join(f"{import_id} {n},\n" for n in range(ROWS - 1))
    table = csv_table(f"Title,Slug\n{import_id},shared\n{rows}".encode(), "x.csv")
    request = ImportRequest(SCOPE, CONTENT_TYPE, import_id, ("Title", "Slug"), update=True)
    async with open_recorder(url, connections=1) as recorder:
        repository = Repository(recorder, EventMapper())
        await run_import(ImportRun(repository, table, request, Actor("operator", "t")))


async def events_of(url: str, import_id: str) -> int:
    """Returns the number of the import's events in the log."""
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(_OF_IMPORT, import_id))
    finally:
        await connection.close()
