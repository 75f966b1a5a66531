"""The programs in webhooks.md and connectors.md do what the documents say."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import aiohttp
import nats
import pytest
from nats.js.errors import NotFoundError

from tests.documents import File, steps
from tests.integration.api.deliveries import LOOPBACK, SECRET
from tests.integration.api.server import ACME, Server, serving
from tests.integration.deploy.processes import eventually
from tests.integration.live_projector import until as until_async
from tests.integration.projector.sample_log import ContentBuilder, raws
from tests.processes import free_port, http_server
from write_side import commands as c
from write_side.repository import Repository

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "deploy/docs"
FORGED = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,"}
NATS = shutil.which("nats-server")
VERIFY = """
const { Webhook } = require("standardwebhooks");
const [, , secret, body, headers] = process.argv;
console.log(JSON.stringify(new Webhook(secret).verify(body, JSON.parse(headers))));
"""


def save_programs(document: str, folder: Path) -> None:
    for step in steps(DOCS / document):
        assert isinstance(step, File)
        (folder / step.name).write_text(step.text, "utf-8")


@contextmanager
def started(folder: Path, program: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, folder / program],
            env={**os.environ, **environment},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def service_of_others() -> Iterator[tuple[str, list[tuple[str, str, Any]]]]:
    """A fake CDN or search index. Yields its URL and the requests (method, path, body) it
    receives."""
    requests: list[tuple[str, str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            requests.append((self.command, self.path, json.loads(body) if body else None))
            self.send_response(404 if self.command == "DELETE" else 200)
            self.end_headers()

        do_PUT = do_DELETE = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with http_server(Handler) as url:
        yield url, requests


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository, webhook_networks=LOOPBACK) as server:
        yield server


@pytest.fixture
async def magazine(server: Server) -> ContentBuilder:
    builder = await server.workspace()
    await builder.content_type()
    return builder


@pytest.fixture
def delivering(database_url: str, tmp_path: Path) -> Iterator[None]:
    environment = {
        "CONTENTLOG_EVENT_STORE_URL": database_url,
        "CONTENTLOG_READ_MODEL_URL": database_url,
        "CONTENTLOG_WEBHOOK_NETWORKS": "127.0.0.0/8",
    }
    with (tmp_path / "deliveries").open("ab") as log:
        command: list[str | Path] = [Path(sys.executable).with_name("contentlog"), "webhooks"]
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=log, stderr=log
        )
        yield
        process.terminate()
        assert process.wait(60) == 0


async def receiver(builder: ContentBuilder, port: int, **properties: Any) -> None:
    """Waits for a receiver to start on the port, and registers it as a webhook."""
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            break
    await builder.execute(
        c.CreateWebhook,
        workspace="acme",
        name="example",
        url=f"http://127.0.0.1:{port}/",
        environment="production",
        secret=SECRET,
        **properties,
    )


async def test_a_change_purges_the_pages_of_its_entry(
    magazine: ContentBuilder, delivering: None, tmp_path: Path
) -> None:
    save_programs("webhooks.md", tmp_path)
    port = free_port()
    with (
        service_of_others() as (url, requests),
        started(
            tmp_path,
            "purge_cdn.py",
            PORT=str(port),
            WEBHOOK_SECRET=SECRET,
            CDN_URL=url,
            CDN_TOKEN="t",
        ),
    ):
        await receiver(magazine, port)
        entry = await magazine.entry("one")
        await magazine.content_type(slug="authors")
        await eventually(lambda: len(requests) >= 2)
    assert [path for _, path, _ in requests] == [f"/purge/{entry}", "/purge/authors"]


async def test_a_search_index_has_the_published_entries(
    magazine: ContentBuilder, delivering: None, tmp_path: Path
) -> None:
    save_programs("webhooks.md", tmp_path)
    port = free_port()
    environment = {"PORT": str(port), "WEBHOOK_SECRET": SECRET}
    with (
        service_of_others() as (url, requests),
        started(tmp_path, "update_index.py", SEARCH_URL=url, **environment),
    ):
        await receiver(magazine, port, include_entry=True)
        one = await magazine.entry("one", status="published", fields=raws(body="Hello"))
        await eventually(lambda: len(requests) == 1)
        await magazine.delete(one)
        await eventually(lambda: len(requests) == 2)
    [(put, path, document), (delete, gone, _)] = requests
    assert (put, path) == ("PUT", f"/content/_doc/{one}")
    assert document["fields"]["body"] == "Hello"
    assert (delete, gone) == ("DELETE", path)


async def test_many_changes_make_one_build(
    magazine: ContentBuilder, delivering: None, tmp_path: Path
) -> None:
    save_programs("webhooks.md", tmp_path)
    port, built = free_port(), tmp_path / "built"
    with started(
        tmp_path,
        "rebuild_site.py",
        PORT=str(port),
        WEBHOOK_SECRET=SECRET,
        BUILD_COMMAND=f"echo built >> {built}",
        # A longer pause between deliveries would make a second build.
        QUIET_SECONDS="5",
    ):
        await receiver(magazine, port)
        for number in range(10):
            await magazine.entry(f"e{number}")
        # The shell creates the file before `echo` writes to it.
        await eventually(lambda: built.exists() and built.read_text() != "")
        assert built.read_text() == "built\n"
        await magazine.entry("later")
        await eventually(lambda: built.read_text() == "built\nbuilt\n")


async def test_a_receiver_refuses_what_is_not_signed(tmp_path: Path) -> None:
    save_programs("webhooks.md", tmp_path)
    port = free_port()
    with started(
        tmp_path, "rebuild_site.py", PORT=str(port), WEBHOOK_SECRET=SECRET, BUILD_COMMAND="false"
    ):
        async with aiohttp.ClientSession() as session, asyncio.timeout(60):
            while True:
                try:
                    async with session.post(
                        f"http://127.0.0.1:{port}/", json={}, headers=FORGED
                    ) as response:
                        assert response.status == 401
                        return
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """The URL of a NATS server with JetStream."""
    if NATS is None:
        pytest.skip("connectors.md is not tried: there is no nats-server")
    port = free_port()
    process = subprocess.Popen(
        [NATS, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", tmp_path / "jetstream"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


async def test_a_connector_that_is_killed_duplicates_nothing(
    server: Server, magazine: ContentBuilder, tmp_path: Path, broker: str
) -> None:
    save_programs("connectors.md", tmp_path)
    environment = {
        "NATS_URL": broker,
        "CONTENTLOG_URL": server.origin,
        "CONTENTLOG_KEY": ACME,
    }
    connection = await nats.connect(broker)
    stream = connection.jetstream(timeout=60)

    async def published() -> int:
        try:
            return (await stream.stream_info("CONTENT")).state.messages
        except NotFoundError:
            return 0

    async def reaches(number: int) -> None:
        async def has_reached() -> bool:
            return await published() >= number

        await until_async(has_reached)

    for round_ in range(3):
        for number in range(40):
            await magazine.entry(f"e{round_}-{number}")
        with started(tmp_path, "to_nats.py", **environment):
            # The connector is killed before it has sent the rest.
            await reaches(await published() + 10)
    await server.caught_up()
    feed = (await server.client().get("/v1/changes?limit=500")).data
    with started(tmp_path, "to_nats.py", **environment):
        await reaches(len(feed))
        await asyncio.sleep(0.5)
    received = [
        json.loads((await stream.get_msg("CONTENT", number + 1)).data or b"")
        for number in range(await published())
    ]
    await connection.close()
    assert [one["id"] for one in received] == [one["id"] for one in feed]


FAKE_KAFKA = Path(__file__).parent / "fake_aiokafka.py"


async def test_the_kafka_connector_duplicates_nothing_in_a_fake_broker(
    server: Server, magazine: ContentBuilder, tmp_path: Path
) -> None:
    """Runs the program with a stand-in for aiokafka, because there is no broker here."""
    save_programs("connectors.md", tmp_path)
    shutil.copy(FAKE_KAFKA, tmp_path / "aiokafka.py")
    topic = tmp_path / "topic"
    environment = {
        "KAFKA_SERVERS": str(topic),
        "CONTENTLOG_URL": server.origin,
        "CONTENTLOG_KEY": ACME,
    }

    def records() -> list[Any]:
        lines = topic.read_text().splitlines() if topic.exists() else []
        return [json.loads(line) for line in lines if line]

    async def has_all() -> bool:
        return len(records()) >= len(feed)

    for number in range(3):
        entry = await magazine.entry(f"e{number}")
        await server.caught_up()
        feed = (await server.client().get("/v1/changes?limit=500")).data
        with started(tmp_path, "to_kafka.py", **environment):
            await until_async(has_all)
        assert [one["headers"]["id"] for one in records()] == [one["id"] for one in feed]
        assert [one["value"] for one in records()] == feed
        assert records()[-1]["key"] == entry

    # The broker has removed all records, and the connector publishes all changes again.
    topic.write_text("\n" * len(feed))
    with started(tmp_path, "to_kafka.py", **environment):
        await until_async(has_all)
    assert [one["value"] for one in records()] == feed


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm to install the library")
def test_the_library_of_npm_verifies_a_message(tmp_path: Path) -> None:
    from api.webhooks.message import headers, sample_message

    install = [
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "standardwebhooks@1",
    ]
    subprocess.run(install, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    (tmp_path / "verify.js").write_text(VERIFY)
    message = sample_message()
    signed = json.dumps(dict(headers(message, [SECRET])))
    command = ["node", "verify.js", SECRET, message.body.decode(), signed]
    properties = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert json.loads(properties.stdout) == json.loads(message.body)
    command[3] += " "
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60).returncode == 1
