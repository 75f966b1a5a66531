"""``kill -9`` at any point of an import: either all of its rows are stored or none, and never
twice."""

from __future__ import annotations

import asyncio

import pytest

from tests.e2e.imports import CONTENT_TYPE, SCOPE, send
from tests.e2e.test_rebuild_processes import kill_everywhere
from tests.integration.write_side.sample_commands import check_store
from write_side.commands import CreateContentType, CreateWorkspace
from write_side.dispatch import execute
from write_side.domain.identity import Actor
from write_side.repository import Repository

pytestmark = pytest.mark.slow

OPERATOR = Actor("operator", "tests")


async def test_an_import_killed_anywhere_takes_effect_once_or_not_at_all(
    repository: Repository, database_url: str
) -> None:
    for command in (
        CreateWorkspace(actor=OPERATOR, workspace=SCOPE.workspace, name="Acme"),
        CreateContentType(actor=OPERATOR, scope=SCOPE, slug=CONTENT_TYPE, name="Posts", fields=()),
    ):
        await execute(command, repository)
    await send(database_url, "first")
    kills = await asyncio.to_thread(kill_everywhere, "import", database_url, database_url)
    assert kills > 12
    await check_store(repository)
