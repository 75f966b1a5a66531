"""Lists of large entries and responses to slow clients: the same bytes, with limited resources."""

from __future__ import annotations

import asyncio
import errno
import gzip
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from api.http import large_bodies
from read_side import entries
from tests.integration.api.graphql import run_query
from tests.integration.api.large_responses import sent, slow_reader
from tests.integration.api.server import Server, shared
from tests.integration.projector.sample_log import BODY, raws

pytestmark = pytest.mark.asyncio(loop_scope="module")

OF_TYPE, ACROSS = "/v1/content/posts?status=draft&limit=20", "/v1/content?limit=20&offset=1"
MB = 1_000_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(module_database_url: str) -> AsyncIterator[Server]:
    """A server with large entries among small ones."""
    async with shared(module_database_url, response_file_bytes=40 * MB) as server:
        acme = await server.workspace()
        await acme.content_type(BODY)
        for number, size in enumerate((10, 40_000, 10, MB, 70_000, 10)):
            text = os.urandom(size // 2).hex() + "é"
            await acme.entry(f"entry-{number}", title=f"T {number}", fields=raws(body=text))
        await server.caught_up()
        yield server


def open_files() -> int:
    """The number of unnamed files that the process has open."""
    links = list(Path("/proc/self/fd").iterdir())
    return sum("(deleted)" in str(link.readlink()) for link in links if link.is_symlink())


async def plain(server: Server, path: str, method: str = "GET", **headers: str) -> Any:
    """Status, headers and body as they were sent."""
    sent_headers = {
        "Authorization": "Bearer secret-of-acme",
        "Accept-Encoding": "identity",
        **headers,
    }
    async with server.session.request(
        method, path, headers=sent_headers, auto_decompress=False
    ) as response:
        return response.status, response.headers, await response.read()


@pytest.mark.parametrize("path", [OF_TYPE, ACROSS])
async def test_a_large_list_is_the_same_from_a_file_as_from_memory(
    path: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_files()
    status, headers, body = await plain(server, path)
    assert status == 200
    with monkeypatch.context() as patch:
        patch.setattr("read_side.paging.INLINE", entries.WHOLE)
        _, from_memory, same = await plain(server, path)
    assert body == same
    kept = ("ETag", "Content-Type", "Content-Length", "Vary", "Cache-Control")
    assert [headers[name] for name in kept] == [from_memory[name] for name in kept]
    assert headers["ETag"] == f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    _, packed_headers, packed = await plain(server, path, **{"Accept-Encoding": "gzip"})
    assert packed_headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == body
    assert packed_headers["ETag"] == headers["ETag"]
    head_status, head, nothing = await plain(server, path, "HEAD")
    assert (head_status, nothing) == (200, b"")
    assert [head[name] for name in kept] == [headers[name] for name in kept]
    current, _, nothing = await plain(server, path, **{"If-None-Match": headers["ETag"]})
    assert (current, nothing) == (304, b"")
    await sent(server)
    assert open_files() == before


async def test_a_large_list_is_read_a_few_entries_at_a_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []
    write = large_bodies.BodyFile.write

    def seen(file: large_bodies.BodyFile, piece: bytes) -> None:
        pieces.append(len(piece))
        write(file, piece)

    monkeypatch.setattr(large_bodies.BodyFile, "write", seen)
    listed = await server.client().get(OF_TYPE)
    assert len(pieces) == len(listed.body["data"]) + 1
    assert max(pieces) < MB + 1_000


@pytest.mark.usefixtures("small_buffers")
async def test_a_slow_reader_keeps_a_file_and_no_database_connection(
    server: Server,
) -> None:
    before = open_files()
    readers = [slow_reader(server, OF_TYPE) for _ in range(12)]
    bodies, pool = server.service.large_bodies, server.service.read_model
    async with asyncio.timeout(20):
        while open_files() < before + 12 or len(pool._idle) < len(pool._open):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert 12 * MB < bodies.files.used <= 20 * MB, "half of what the process may have"
    assert bodies.memory.used == 0
    assert (await server.client().get("/v1/content-types")).status == 200
    for reader in readers:
        reader.close()
    await sent(server)
    assert open_files() == before


async def test_a_workspace_over_its_share_waits_and_is_then_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_bodies, "PATIENCE", 0.05)
    bodies = server.service.large_bodies
    assert bodies.files.take("acme", 20 * MB)
    refused = await server.client().get(OF_TYPE)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert (await server.client().get("/v1/content-types")).status == 200
    bodies.files.give_back("acme", 20 * MB)
    assert (await server.client().get(OF_TYPE)).status == 200


@pytest.mark.usefixtures("small_buffers")
async def test_bodies_in_memory_are_limited_and_the_rest_goes_to_files(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several clients request an entry of 1 MB and do not read it."""
    monkeypatch.setattr(server.service.large_bodies, "memory", large_bodies.ByteBudget(5 * MB))
    listed = (await server.client().get(OF_TYPE)).body["data"]
    slug = next(one["slug"] for one in listed if one["title"] == "T 3")
    bodies, before = server.service.large_bodies, open_files()
    readers = [slow_reader(server, f"/v1/content/posts/{slug}") for _ in range(5)]
    async with asyncio.timeout(20):
        while open_files() < before + 3:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.02)
    assert 2 * MB < bodies.memory.used < 2.5 * MB
    assert 3 * MB < bodies.files.used < 3.5 * MB
    for reader in readers:
        reader.close()
    await sent(server)


@pytest.mark.usefixtures("small_buffers")
async def test_a_body_that_is_sent_as_a_whole_counts_until_it_is_read(server: Server) -> None:
    large = {"contentTypeSlug": "posts", "title": "T", "fields": {"body": "x" * 200_000}}
    created = (await server.client().post(large)).body["data"]
    await server.caught_up()
    await sent(server)
    bodies = server.service.large_bodies
    with closing(slow_reader(server, f"/v1/content/posts/{created['slug']}")):
        async with asyncio.timeout(20):
            while not bodies.memory.used:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.01)
        assert (await server.client().get("/v1/content-types")).status == 200
        assert 200_000 < bodies.memory.used < large_bodies.PIECE
    await sent(server)


async def test_a_full_disk_is_503_and_one_line(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    large = {"contentTypeSlug": "posts", "title": "T", "fields": {"body": "x" * 100_000}}
    for refused in (await server.client().get(OF_TYPE), await server.client().post(large)):
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    logged = capsys.readouterr().out
    full_disk = "no temporary file for a large request or response: No space left on device"
    assert logged.count(full_disk) == 2
    assert "Traceback" not in logged
    monkeypatch.undo()
    assert (await server.client().get(OF_TYPE)).status == 200
    await sent(server)


async def test_a_query_knows_the_size_of_entries_before_it_reads_them(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = "{ contentEntries(limit: 6) { data { slug fields } } }"
    found = await run_query(server.client(), document)
    assert len(found.body["data"]["contentEntries"]["data"]) == 6
    monkeypatch.setattr("api.graphql.cost.BYTES", MB)
    monkeypatch.setattr("read_side.entries.WHOLE", 0)
    refused = await run_query(server.client(), document)
    assert refused.body["errors"][0]["message"] == (
        "The response has more than 1,000,000 bytes of values: "
        "request fewer entries or fields at a time"
    )
    await sent(server)


async def test_a_killed_process_leaves_no_file(tmp_path: Path) -> None:
    """The file never has a name."""
    program = (
        "import os, signal, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "from api.http.large_bodies import BodyFile\n"
        "file = BodyFile(); file.write(b'x' * 100_000)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await process.wait() == -9
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - in a coroutine
