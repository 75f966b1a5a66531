"""A projector that meets events of a newer version.

It reports them everywhere, reads continue, and the newer version resumes at that event. A read
model of a newer version is left unchanged.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import json

from tests.e2e.commands import Commands
from tests.e2e.newer_projector import TOPIC
from tests.e2e.proxied_service import PATIENCE, Service, serving
from tests.integration.live_projector import checkpoint_of, connected, dump, project_all, until
from write_side.domain.events import TOPICS, MediaAdded

pytestmark = pytest.mark.slow

APPEND = """
WITH at AS (UPDATE write_side.head SET position = position + 1 RETURNING position)
INSERT INTO write_side.event
SELECT position, 'media/acme/hero', 1, $1, $2, now() FROM at RETURNING notification_id"""
STATE = """
{"workspace": "acme", "actor": {"kind": "operator", "id": "test"},
 "media_id": "hero", "url": "https://example.com/hero.png", "name": "Hero",
 "content_type": "image/png"}"""
NEWER = "UPDATE read_model.checkpoint SET shape = 'of a newer version'"
NEW = {"contentTypeSlug": "posts", "title": "One"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "processes.log"


@pytest.fixture
async def service(database_url: str, log: Path) -> AsyncIterator[Service]:
    async with serving(database_url, database_url, log) as service:
        yield service


@pytest.fixture
def commands(database_url: str, tmp_path: Path) -> Commands:
    return Commands(database_url, database_url, tmp_path)


async def test_an_unknown_event_is_reported_everywhere_and_the_next_version_resumes_there(
    service: Service,
    commands: Commands,
    log: Path,
    fresh_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = service.store_url
    await create(service, "before")
    await service.until_caught_up()
    async with connected(url) as connection:
        position = await connection.fetchval(APPEND, TOPIC, STATE)
    assert await create(service, "after") == "false"

    place = f"at position {position}, stream media/acme/hero"
    await until_halted(service, place)
    await until(lambda: has_logged(log))
    assert reasons_logged(log)[0].startswith(place)
    assert TOPIC in reasons_logged(log)[0]
    assert f"HALTED: {place}" in (await commands.run("status")).stdout
    status = (await commands.run("status", "--json")).result
    assert status["projectors"][0]["halted"].startswith(place)
    assert (status["checkpoint"], status["head"]) == (position - 1, position + 1)
    await until_halted_is(service, 1)
    assert await titles(service) == ["before"]

    service.processes.running["projector"].terminate()
    service.processes.running["projector"].wait(PATIENCE)
    with newer_projector(url, log):
        await service.until_caught_up()
        # For a second, the API may send a response from its cache.
        await until(lambda: shows(service, ["after", "before"]))
        await until_halted_is(service, 0)
    monkeypatch.setitem(TOPICS, TOPIC, MediaAdded)
    await project_all(url, fresh_url)
    assert await dump(url) == await dump(fresh_url)


async def test_a_read_model_of_a_newer_version_is_not_written_while_reads_continue(
    service: Service, commands: Commands, log: Path
) -> None:
    await create(service, "before")
    await service.until_caught_up()
    async with connected(service.model_url) as connection:
        await connection.execute(NEWER)
    service.processes.kill("projector")
    service.processes.start("projector")
    checkpoint = await checkpoint_of(service.model_url)
    assert await create(service, "after") == "false"
    await until_halted(service, "a different shape")
    await until(lambda: has_logged(log))
    assert "a different shape" in reasons_logged(log)[0]
    assert "a different shape" in (await commands.run("status")).stdout
    await until_halted_is(service, 1)
    assert await titles(service) == ["before"]
    assert await checkpoint_of(service.model_url) == checkpoint


async def create(service: Service, title: str) -> str:
    """Creates an entry. Returns ``true`` if the response says it is already visible."""
    async with service.session.post("/v1/content", json={**NEW, "title": title}) as response:
        assert response.status == 200
        return response.headers["X-Content-Visible"]


async def titles(service: Service) -> list[str]:
    async with service.session.get("/v1/content/posts?status=draft") as response:
        assert response.status == 200
        return [entry["title"] for entry in (await response.json())["data"]]


async def shows(service: Service, expected: list[str]) -> bool:
    return await titles(service) == expected


async def until_halted(service: Service, saying: str) -> None:
    async def halted() -> bool:
        status, body = await service.readiness()
        reason = body.get("reason") or ""
        return status == 503 and reason.startswith("the projector has halted") and saying in reason

    await until(halted)


async def has_logged(log: Path) -> bool:
    return bool(reasons_logged(log))


def reasons_logged(log: Path) -> list[str]:
    whole, _, _ = log.read_bytes().rpartition(b"\n")
    lines = [json.decode(line) for line in whole.splitlines()]
    return [line["reason"] for line in lines if line["event"] == "halted"]


async def until_halted_is(service: Service, value: float) -> None:
    """Waits until the metric has the value: the API reads the status a few times a second."""
    name = "contentlog_projector_halted"

    async def has_value() -> bool:
        async with service.session.get("/metrics") as response:
            lines = (await response.text()).splitlines()
        return [float(line.split()[-1]) for line in lines if line.startswith(f"{name} ")] == [value]

    await until(has_value)


@contextmanager
def newer_projector(url: str, log: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.e2e.newer_projector", url, url]
    with log.open("ab") as lines:
        process = subprocess.Popen(command, stdout=lines, stderr=lines)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)
