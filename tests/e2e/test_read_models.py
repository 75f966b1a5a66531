"""Several read models of one log: the default one, one with two workspaces, and one with one.

Each has its own projector, API and database. Clients write and read through all of them while a
projector is killed and another model is rebuilt.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import Struct

from tests.databases import Databases
from tests.e2e.commands import Commands
from tests.integration.live_projector import caught_up, connected, dump, rendered, until
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes
from write_side import commands as c
from write_side.domain.identity import Scope
from write_side.repository import Repository

pytestmark = pytest.mark.slow

WORKSPACES = ("acme", "other", "solo")
HELD = {"default": WORKSPACES, "eu": ("acme", "other"), "tenant": ("solo",)}
NAMED = ("eu", "tenant")
PATIENCE = 300.0
WRITES = 120
"""The least number of writes of all writers together."""
_ENTRIES = "SELECT workspace, count(*) AS n FROM read_model.entry GROUP BY 1"
_FOREIGN = "SELECT count(*) FROM read_model.{table} WHERE workspace <> ALL ($1)"
TABLES = ("entry", "content_type", "change", "entry_count", "past_version")


class Installation(Struct):
    """The URL of each read model, and its processes, by name."""

    urls: dict[str, str]
    processes: dict[str, Processes]
    commands: Commands

    def api(self, name: str) -> str:
        return self.processes[name].url


@pytest.fixture
def urls(databases: Databases, database_url: str) -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        named = {name: stack.enter_context(databases.new(empty=True)) for name in (*NAMED, "next")}
        yield {"default": database_url, **named}


@pytest.fixture
async def log(repository: Repository) -> None:
    for workspace in WORKSPACES:
        builder = ContentBuilder(repository, Scope(workspace, "production"))
        await builder.magazine()
        await builder.execute(
            c.IssueKey,
            workspace=workspace,
            name="client",
            permissions=("content.view", "content.edit"),
            secret_hash=hashlib.sha256(secret(workspace).encode()).hexdigest(),
        )


def secret(workspace: str) -> str:
    return f"a-secret-of-{workspace}-for-all"


def settings(urls: Mapping[str, str], *names: str) -> dict[str, str]:
    found = {f"CONTENTLOG_READ_MODEL_{name.upper()}_URL": urls[name] for name in names}
    filtered = {
        f"CONTENTLOG_READ_MODEL_{name.upper()}_WORKSPACES": ",".join(HELD[name])
        for name in names
        if name in HELD
    }
    return {**found, **filtered}


@pytest.fixture
async def installation(
    urls: dict[str, str], log: None, tmp_path: Path
) -> AsyncIterator[Installation]:
    environment = settings(urls, *NAMED, "next")
    commands = Commands(urls["default"], urls["default"], tmp_path, **environment)
    processes: dict[str, Processes] = {}
    with ExitStack() as stack:
        for name in HELD:
            await commands.run("migrate", "--read-model", name)
            processes[name] = one = Processes(
                urls["default"],
                tmp_path / f"{name}.log",
                None,
                **environment,
                CONTENTLOG_READ_MODEL=name,
            )
            stack.callback(one.stop)
            one.start("projector")
            one.start("api")
        for one in processes.values():
            await one.caught_up()
        yield Installation(urls, processes, commands)


async def test_each_serves_its_workspaces_while_others_are_killed_and_rebuilt(
    installation: Installation,
) -> None:
    await keys_are_known_where_their_workspace_is(installation)
    async with writing(installation) as written:
        await until(lambda: at_least(written, 20), PATIENCE)
        installation.processes["eu"].kill("projector")
        await until(lambda: at_least(written, 50, "default", "tenant"), PATIENCE)
        installation.processes["eu"].start("projector")
        await installation.commands.run("rebuild", "--read-model", "tenant")
        await until(lambda: at_least(written, WRITES), PATIENCE)
    await all_caught_up(installation)
    await each_has_its_own(installation, written)
    status = (await installation.commands.run("status", "--json")).result
    listed = {one["name"]: one for one in status["readModels"]}
    assert {name: listed[name]["workspaces"] for name in NAMED} == {
        name: sorted(HELD[name]) for name in NAMED
    }
    assert all(listed[name]["lag"]["events"] == 0 for name in HELD)
    assert "checkpoint" not in listed["next"], "it has not been created"
    assert listed["next"]["fault"]


async def test_a_fresh_read_model_takes_the_place_of_another(
    installation: Installation, tmp_path: Path
) -> None:
    """The steps of a schema change: a new read model is filled beside the old one, and the API is
    then started on it."""
    commands, urls = installation.commands, installation.urls
    await commands.run("migrate", "--read-model", "next")
    built = await commands.run("rebuild", "--read-model", "next", "--json")
    assert built.result["notCompared"] == "it is empty"
    environment = settings(urls, "next")
    moved = Processes(
        urls["default"], tmp_path / "next.log", None, **environment, CONTENTLOG_READ_MODEL="next"
    )
    try:
        moved.start("projector")
        moved.start("api")
        await moved.caught_up()
        token = await create(installation.api("default"), "acme", "before-the-move")
        assert await read(moved.url, "acme", "before-the-move", token) == 200
        await caught_up(urls["default"])
        for name in ("default", "next"):
            await rendered(urls[name])
        assert await dump(urls["next"]) == await dump(urls["default"])
        assert (await moved.caught_up())["readModel"] == "next"
    finally:
        moved.stop()


async def test_other_settings_than_the_tables_are_refused(
    installation: Installation, tmp_path: Path
) -> None:
    urls = installation.urls
    changed = {
        **settings(urls, *NAMED),
        "CONTENTLOG_READ_MODEL_EU_WORKSPACES": "acme,other,solo",
    }
    commands = Commands(urls["default"], urls["default"], tmp_path, **changed)
    for arguments in (("migrate",), ("verify",), ("rebuild",)):
        refused = await commands.refused(*arguments, "--read-model", "eu")
        assert "holds the workspaces 'acme, other'" in refused.stderr
    projector = installation.processes["eu"]
    projector.kill("projector")
    others = Processes(
        urls["default"], tmp_path / "log", None, **changed, CONTENTLOG_READ_MODEL="eu"
    )
    try:
        others.start("projector")
        await until(lambda: has_halted(commands, "but its settings say"), PATIENCE)
        # The API serves its current workspaces, and the third one once it is projected.
        assert await read(installation.api("eu"), "solo", "none", "") == 401
        await commands.run("rebuild", "--read-model", "eu", "--accept-differences")
        await until(lambda: is_served(installation.api("eu"), "solo"), PATIENCE)
        token = await create(installation.api("eu"), "solo", "now-here")
        assert await read(installation.api("eu"), "solo", "now-here", token) == 200
        await commands.run("verify", "--read-model", "eu")
    finally:
        others.stop()


async def test_commands_for_no_read_model_are_refused(
    urls: dict[str, str], log: None, tmp_path: Path
) -> None:
    commands = Commands(urls["default"], urls["default"], tmp_path, **settings(urls, *NAMED))
    for command in ("status", "projector", "api", "rebuild", "webhooks", "doctor"):
        refused = await commands.refused(command, "--read-model", "us")
        assert "no read model 'us': choose from 'default', 'eu', 'tenant', or" in refused.stderr
    refused = await commands.refused("webhooks", "--read-model", "eu")
    assert "the read model 'eu' holds only some workspaces" in refused.stderr


async def keys_are_known_where_their_workspace_is(installation: Installation) -> None:
    for name, held in HELD.items():
        for workspace in WORKSPACES:
            expected = 404 if workspace in held else 401
            assert await read(installation.api(name), workspace, "none", "") == expected


async def create(api: str, workspace: str, slug: str) -> str:
    """Creates an entry and returns its position token."""
    body = {"contentTypeSlug": "posts", "title": slug, "slug": slug, "status": "published"}
    async with client(workspace) as session, session.post(f"{api}/v1/content", json=body) as new:
        assert new.status == 200, await new.text()
        return str(new.headers["X-Content-Position"])


async def read(api: str, workspace: str, slug: str, token: str) -> int:
    """Retries while the status is 503; returns the first other status."""
    headers = {"X-Content-Position": token} if token else {}
    async with client(workspace) as session:
        while True:
            url = f"{api}/v1/content/posts/{slug}"
            async with session.get(url, headers=headers) as found:
                if found.status != 503:
                    return found.status
            await asyncio.sleep(0.05)


@asynccontextmanager
async def client(workspace: str) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {secret(workspace)}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        yield session


@asynccontextmanager
async def writing(installation: Installation) -> AsyncIterator[list[tuple[str, str]]]:
    """Runs writers through each API, for each of its workspaces, and reads the entries at every API
    that serves them. Yields, for each entry, the read model it was written through and its
    workspace. At the end, each writer finishes its last entry."""
    written: list[tuple[str, str]] = []
    stopped = asyncio.Event()

    async def write(name: str, workspace: str) -> None:
        for number in numbers():
            slug = f"{name}-{number}"
            token = await create(installation.api(name), workspace, slug)
            assert await read(installation.api(name), workspace, slug, token) == 200
            written.append((name, workspace))

    async def follow(name: str, workspace: str) -> None:
        """Writes through the default read model and reads with the token through another."""
        for number in numbers():
            slug = f"seen-in-{name}-{number}"
            token = await create(installation.api("default"), workspace, slug)
            assert await read(installation.api(name), workspace, slug, token) == 200
            written.append(("default", workspace))

    def numbers() -> Iterator[int]:
        return takewhile(lambda _: not stopped.is_set(), count())

    async with asyncio.TaskGroup() as group:
        for work, names in ((write, HELD), (follow, NAMED)):
            for name in names:
                for workspace in HELD[name]:
                    group.create_task(work(name, workspace))
        yield written
        stopped.set()


async def at_least(written: list[tuple[str, str]], number: int, *names: str) -> bool:
    return sum(not names or name in names for name, _ in written) >= number


async def all_caught_up(installation: Installation) -> None:
    for one in installation.processes.values():
        await one.caught_up()


async def each_has_its_own(installation: Installation, written: list[tuple[str, str]]) -> None:
    found = {}
    for name, held in HELD.items():
        verified = await installation.commands.run("verify", "--read-model", name, "--json")
        assert (verified.result["readModel"], verified.result["claims"]) == (0, 0)
        assert verified.result["notCompared"] is None
        async with connected(installation.urls[name]) as connection:
            rows = await connection.fetch(_ENTRIES)
            found[name] = {row["workspace"]: row["n"] for row in rows}
            for table in TABLES:
                assert await connection.fetchval(_FOREIGN.format(table=table), list(held)) == 0
    for name, held in HELD.items():
        assert found[name] == {one: found["default"][one] for one in held}
    for workspace in WORKSPACES:
        assert found["default"][workspace] == sum(one == workspace for _, one in written)


async def has_halted(commands: Commands, saying: str) -> bool:
    status = (await commands.run("status", "--read-model", "eu", "--json")).result
    halted: list[Any] = [one["halted"] or "" for one in status["projectors"]]
    return any(saying in one for one in halted)


async def is_served(api: str, workspace: str) -> bool:
    return await read(api, workspace, "none", "") == 404
