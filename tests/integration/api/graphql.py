"""A GraphQL client: sends a document and returns its response, data or error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from api.rest import point_in_time
from read_side.pool import Pool
from tests.integration.api.server import BACKGROUND, Answer, Client
from write_side import waiting
from write_side.store.recorder import Recorder

ENTRY = """
fragment Entry on ContentEntry {
  id title slug status stage { id name } language locale publishedAt createdAt updatedAt
  contentType { slug } fields version
}
"""
_CREATE = (
    ENTRY
    + """
mutation ($input: CreateContentEntryInput!) {
  payload: createContentEntry(input: $input) { success message entry { ...Entry } }
}"""
)
_UPDATE = (
    ENTRY
    + """
mutation ($id: ID!, $input: UpdateContentEntryInput!) {
  payload: updateContentEntry(id: $id, input: $input) { success message entry { ...Entry } }
}"""
)
_DELETE = """
mutation ($id: ID!) { payload: deleteContentEntry(id: $id) { success message } }"""


async def run_query(
    client: Client,
    document: str,
    *,
    path: str = "/graphql",
    headers: dict[str, str] | None = None,
    **variables: Any,
) -> Answer:
    """The response, with or without errors."""
    body = {"query": document, "variables": variables}
    return await client.post(body, path, headers=headers)


async def data(client: Client, document: str, **variables: Any) -> Any:
    """The response's data. Fails if there are errors."""
    answer = await run_query(client, document, **variables)
    assert answer.status == 200, answer.text
    assert "errors" not in answer.body, answer.text
    return answer.body["data"]


async def refused(client: Client, document: str, **variables: Any) -> tuple[int, str]:
    """The status and message of the only error."""
    answer = await run_query(client, document, **variables)
    assert answer.status == 200, answer.text
    [error] = answer.body["errors"]
    return error["extensions"]["status"], error["message"]


async def create(client: Client, environment: str = "production", **arguments: Any) -> Any:
    """Returns the payload. Keywords are those of CreateContentEntryInput."""
    return await _payload(client, environment, _CREATE, input=arguments)


async def update(
    client: Client, entry_id: str, environment: str = "production", **arguments: Any
) -> Any:
    """Returns the payload. Keywords are those of UpdateContentEntryInput."""
    return await _payload(client, environment, _UPDATE, id=entry_id, input=arguments)


async def delete(client: Client, entry_id: str, environment: str = "production") -> Any:
    return await _payload(client, environment, _DELETE, id=entry_id)


async def _payload(client: Client, environment: str, document: str, **variables: Any) -> Any:
    path = f"/graphql?environment={environment}"
    return (await data(client, document, path=path, **variables))["payload"]


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collects the statements sent to both databases, except those of background tasks."""
    statements: list[str] = []
    # On a slow machine, the end of a slice could split one load into several, and a recent time
    # could become too old to be checked against the event store's clock.
    monkeypatch.setattr(waiting, "SLICE", 60.0)
    monkeypatch.setattr(point_in_time, "RECENT", timedelta(days=1))
    for kind in (Pool, Recorder):
        fetch = kind.fetch

        async def counted(self: Any, statement: str, *args: Any, fetch: Any = fetch) -> Any:
            task = asyncio.current_task()
            if task is None or task.get_name() not in BACKGROUND:
                statements.append(statement)
            return await fetch(self, statement, *args)

        monkeypatch.setattr(kind, "fetch", counted)
    yield statements
    monkeypatch.undo()
