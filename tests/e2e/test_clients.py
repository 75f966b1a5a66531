"""Generated clients: made from the API's own descriptions, checked strictly, and run against it.

Each program lists drafts with ``limit: 2``, reads a field, and creates an entry.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.generators import CLIENTS, Generators, generators
from tests.integration.api.server import ACME, Server, serving
from tests.integration.projector.sample_log import raws
from write_side.domain.definition import Field
from write_side.repository import Repository

pytestmark = pytest.mark.slow
SCHEMA = Path(__file__).parents[2] / "api" / "graphql" / "schema.graphql"
OPENAPI = "openapi-python-client generate --path openapi.json --output-path generated --meta none"


class Workshop(NamedTuple):
    """A folder with the descriptions, the programs and the generators; and the running API."""

    folder: Path
    generators: Generators
    server: Server

    async def run(self, command: str) -> str:
        return await self.generators.run(self.folder, *command.split())

    async def lines(self, *program: str) -> list[str]:
        """What a program prints that is given the API's address and a key."""
        printed = await self.generators.run(self.folder, *program, self.server.origin, ACME)
        return printed.splitlines()


@pytest.fixture
async def workshop(
    database_url: str, repository: Repository, tmp_path: Path
) -> AsyncIterator[Workshop]:
    installed = await asyncio.to_thread(generators)
    folder = tmp_path / "clients"
    shutil.copytree(CLIENTS, folder)
    shutil.copy(SCHEMA, folder)
    (folder / "node_modules").symlink_to(installed.node_modules)
    async with serving(database_url, repository) as server:
        acme = await server.workspace()
        await acme.content_type(Field("body", "Body", "text"))
        for slug in ("first", "second"):
            await acme.entry(slug, fields=raws(body="typed"))
        await server.caught_up()
        document = await server.client(None).get("/v1/openapi.json")
        (folder / "openapi.json").write_text(document.text)
        yield Workshop(folder, installed, server)


async def test_the_document_has_no_problem_that_is_not_argued(workshop: Workshop) -> None:
    """redocly.yaml has the arguments."""
    found = await workshop.run("redocly lint openapi.json --config redocly.yaml --format codeframe")
    assert "Your API description is valid" in found
    assert "warning" not in found


async def test_a_typescript_client_of_rest(workshop: Workshop) -> None:
    await workshop.run("openapi-typescript openapi.json --output schema.d.ts")
    await workshop.generators.compile(workshop.folder, "rest_client.ts")
    printed = await workshop.lines("node", "out/rest_client.js")
    assert printed == ["2 from-typescript typed", "2 second typed"]


async def test_a_python_client_of_rest(workshop: Workshop) -> None:
    await workshop.run(f"{OPENAPI} --fail-on-warning")
    await workshop.run("mypy --strict rest_client.py generated")
    printed = await workshop.lines("python", "rest_client.py")
    assert printed == ["2 from-python typed", "2 second typed"]


async def test_a_typescript_client_of_graphql(workshop: Workshop) -> None:
    await workshop.run("graphql-codegen --config codegen.json")
    await workshop.generators.compile(workshop.folder, "graphql_client.ts")
    printed = await workshop.lines("node", "out/graphql_client.js")
    assert printed == ["2 from-graphql-codegen typed 24", "2 second typed 24"]


async def test_a_python_client_of_graphql(workshop: Workshop) -> None:
    await workshop.run("ariadne-codegen --config ariadne.toml")
    await workshop.run("mypy --strict graphql_client.py generated")
    printed = await workshop.lines("python", "graphql_client.py")
    assert [line.split()[:3] for line in printed] == [
        ["2", "from-ariadne-codegen", "typed"],
        ["2", "second", "typed"],
    ]
