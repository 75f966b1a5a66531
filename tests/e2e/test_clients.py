"""Clients generated from the API's own descriptions, checked strictly and run against it.

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
from write_side.domain.definition import Field, Option
from write_side.repository import Repository

pytestmark = pytest.mark.slow
SCHEMA = Path(__file__).parents[2] / "api" / "graphql" / "schema.graphql"
OPENAPI = "openapi-python-client generate --meta none --fail-on-warning"
MODELS = (
    "python -W error -m datamodel_code_generator --output-model-type pydantic_v2.BaseModel"
    " --target-python-version 3.11 --formatters builtin --use-annotated"
    " --capitalise-enum-members --set-default-enum-member"
)
LINT = "redocly lint --config redocly.yaml --format codeframe"
ODD_OPTIONS = ("a b", "a-b", "1st", "हिन्दी", '"""\\', "*/")
SMALL = ("small", "large", "title")


def options(*values: str) -> tuple[Option, ...]:
    return tuple(Option(one, one) for one in values)


PRODUCTS = (
    Field("layout", "Layout", "section"),
    Field("price", "Price", "number", indexed=True),
    Field("text", 'A """\\ */ ${name}\n', "text", indexed=True),
    Field("body", "Body", "rich_text"),
    Field("sold", "Sold", "boolean", indexed=True),
    Field("goes_live", "Goes live", "datetime"),
    Field("sale", "Sale", "datetime", range=True, indexed=True),
    Field("size", "Size", "select", options=options(*SMALL), indexed=True),
    Field("tags", "Tags", "select", options=options("new"), multiple=True, indexed=True),
    Field("odd", "Odd", "select", options=options(*ODD_OPTIONS), indexed=True),
    Field("maker", "Maker", "reference", indexed=True),
    Field("related", "Related", "reference", multiple=True, indexed=True),
    Field("cover", "Cover", "media"),
    Field("gallery", "Gallery", "media", multiple=True),
    Field("meta", "Meta", "json"),
    Field(
        "parts",
        "Parts",
        "repeater",
        fields=(
            Field("name", "Name", "text"),
            Field(
                "screws",
                "Screws",
                "repeater",
                fields=(
                    Field("length", "Length", "number"),
                    Field("head", "Head", "select", options=(Option("flat", "Flat"),)),
                ),
            ),
        ),
    ),
)
"""One field of every type."""
ODD_FIELDS = (
    "class",
    "from",
    "1st",
    "a-b",
    "import",
    "type",
    "self",
    "none",
    "json",
    "model_config",
)
ODD_TYPES = (
    *("2024-events", "7", "content-type", "error-body", "date-range", "media", "products-tags"),
    *("products-fields", "new-products", "a-b", "a_b", "a--b", "class", "none", "true", "t", "any"),
    *(
        "mapping",
        "unset",
        "generator",
        "cast",
        "list",
        "type",
        "types",
        "models",
        "client",
        "import",
    ),
    *("uuid", "datetime", "enum", "field", "base-model", "entry-fields", "openapi", "str"),
)


class GeneratedClients(NamedTuple):
    """A folder with the descriptions, the programs and the generators, and the running API."""

    folder: Path
    generators: Generators
    server: Server

    async def run(self, command: str) -> str:
        return await self.generators.run(self.folder, *command.split())

    async def lines(self, *program: str) -> list[str]:
        """Runs a program with the API's address and a key, and returns the lines it prints."""
        stdout = await self.generators.run(self.folder, *program, self.server.origin, ACME)
        return stdout.splitlines()


@pytest.fixture
async def clients(
    database_url: str, repository: Repository, tmp_path: Path
) -> AsyncIterator[GeneratedClients]:
    installed = await asyncio.to_thread(generators)
    folder = tmp_path / "clients"
    shutil.copytree(CLIENTS, folder)
    shutil.copy(SCHEMA, folder)
    (folder / "node_modules").symlink_to(installed.node_modules)
    # On a slow machine, writes wait longer until they can be read.
    async with serving(database_url, repository, read_your_writes=60.0) as server:
        acme = await server.workspace()
        await acme.content_type(Field("body", "Body", "text"))
        for slug in ("first", "second"):
            await acme.entry(slug, fields=raws(body="typed"))
        await acme.content_type(*PRODUCTS, slug="products")
        for slug in ODD_TYPES:
            fields = [Field(field, field, "text") for field in ODD_FIELDS]
            await acme.content_type(*fields, *PRODUCTS[:9], slug=slug)
        await acme.entry("first", type_slug="products", fields=raws(price=1.5, size="small"))
        await server.caught_up()
        for name, key, path in (
            ("openapi", None, "/v1/openapi.json"),
            ("workspace", ACME, "/v1/openapi.json"),
            ("products", ACME, "/v1/content-types/products/schema.json"),
            ("odd", ACME, "/v1/content-types/class/schema.json"),
        ):
            described = await server.client(key).get(path)
            (folder / f"{name}.json").write_text(described.text)
        yield GeneratedClients(folder, installed, server)


async def test_the_document_has_no_problem_that_is_not_argued(clients: GeneratedClients) -> None:
    """redocly.yaml explains the exceptions."""
    for document in ("openapi.json", "workspace.json"):
        found = await clients.run(f"{LINT} {document}")
        assert "Your API description is valid" in found
        assert "warning" not in found


async def test_a_typescript_client_of_rest(clients: GeneratedClients) -> None:
    await clients.run("openapi-typescript openapi.json --output schema.d.ts")
    await clients.generators.compile(clients.folder, "rest_client.ts")
    stdout = await clients.lines("node", "out/rest_client.js")
    assert stdout == ["2 from-typescript typed", "2 second typed"]


async def test_a_python_client_of_rest(clients: GeneratedClients) -> None:
    await clients.run(f"{OPENAPI} --path openapi.json --output-path generated")
    await clients.run("mypy --strict rest_client.py generated")
    stdout = await clients.lines("python", "rest_client.py")
    assert stdout == ["2 from-python typed", "2 second typed"]


async def test_a_typescript_client_of_a_workspace(clients: GeneratedClients) -> None:
    await clients.run("openapi-typescript workspace.json --output workspace.d.ts")
    await clients.generators.compile(clients.folder, "workspace_client.ts")
    stdout = await clients.lines("node", "out/workspace_client.js")
    assert stdout == ["lamp 12.5 2026-01-31 3", "first 1.5 undefined undefined", "products 0"]


async def test_a_python_client_of_a_workspace(clients: GeneratedClients) -> None:
    await clients.run(f"{OPENAPI} --path workspace.json --output-path workspace")
    await clients.run("mypy --strict workspace_client.py workspace")
    stdout = await clients.lines("python", "workspace_client.py")
    assert stdout == [
        "lamp 12.5 2026-01-31 3 small",
        "first 1.5 None None small",
        "products 0",
    ]


async def test_python_models_of_a_workspace(clients: GeneratedClients) -> None:
    for source, kind, module in (
        ("products.json", "jsonschema", "products.py"),
        ("odd.json", "jsonschema", "odd.py"),
        ("workspace.json", "openapi", "whole.py"),
    ):
        await clients.run(f"{MODELS} --input {source} --input-file-type {kind} --output {module}")
    await clients.run("mypy --strict workspace_models.py odd.py")
    stdout = await clients.lines("python", "workspace_models.py")
    assert stdout == ["first 1.5 True", "1.5"]


async def test_a_typescript_client_of_graphql(clients: GeneratedClients) -> None:
    await clients.run("graphql-codegen --config codegen.json")
    await clients.generators.compile(clients.folder, "graphql_client.ts")
    stdout = await clients.lines("node", "out/graphql_client.js")
    assert stdout == ["2 from-graphql-codegen typed 24", "2 second typed 24"]


async def test_a_python_client_of_graphql(clients: GeneratedClients) -> None:
    await clients.run("ariadne-codegen --config ariadne.toml")
    await clients.run("mypy --strict graphql_client.py generated")
    stdout = await clients.lines("python", "graphql_client.py")
    assert [line.split()[:3] for line in stdout] == [
        ["2", "from-ariadne-codegen", "typed"],
        ["2", "second", "typed"],
    ]
