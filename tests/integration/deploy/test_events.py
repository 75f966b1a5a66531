"""The log as JSON lines, one page at a time."""

from __future__ import annotations

from typing import Any

import asyncpg
import msgspec
import pytest

from deploy.commands import events
from deploy.databases import Databases
from tests.integration.projector.sample_log import ContentBuilder
from write_side.commands import RenameWorkspace
from write_side.domain.identity import Scope
from write_side.repository import Repository


@pytest.mark.parametrize("stream", [None, "workspace/acme"])
async def test_pages_are_limited_in_bytes_and_complete(
    database_url: str,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    stream: str | None,
) -> None:
    builder = ContentBuilder(repository, Scope("acme", "production"))
    await builder.workspace()
    await builder.execute(RenameWorkspace, workspace="acme", name="Other")
    fetch, pages = asyncpg.Connection.fetch, []

    async def counted(*arguments: Any) -> Any:
        rows = await fetch(*arguments)
        pages.append(len(rows))
        return rows

    monkeypatch.setattr(asyncpg.Connection, "fetch", counted)
    monkeypatch.setattr(events, "PAGE_BYTES", 1)
    found = Databases(database_url, database_url)
    lines = [line async for line in events._lines(found, 0, stream, follow=False)]
    head = len(lines)
    assert [msgspec.json.decode(line)["position"] for line in lines] == list(range(1, head + 1))
    assert head > 1
    assert pages == [*[1] * head, 0]
