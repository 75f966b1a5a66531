"""The reverse proxy configurations in deploy/proxy, with the real programs in front of an API.

The tests need nginx, haproxy, curl and openssl (Debian packages of the same names).
"""

from __future__ import annotations

import asyncio
import getpass
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from tests.benchmarks.workload import SECRET, append_entries, prepare
from tests.processes import Processes, apis, free_port, running
from write_side.imports.table import LIMITS
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

FOLDER = Path("deploy/proxy").resolve()
AUTHORIZATION = f"Authorization: Bearer {SECRET}"
LIMIT = 50
PATIENCE = 90.0
# Seconds within which both proxies notice that a server is back.
NOTICED = 3.0
OPENSSL = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
    "-subj /CN=localhost"
)
NGINX = """
user {user};
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/contentlog.conf;
}}
"""

pytestmark = [
    pytest.mark.slow,
    *(
        pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
        for program in ("curl", "openssl")
    ),
]


class Response(NamedTuple):
    version: str
    status: int
    headers: dict[str, str]
    body: bytes


def nginx(folder: Path, configuration: str) -> list[str]:
    (folder / "contentlog.conf").write_text(configuration)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, user=getpass.getuser()))
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def haproxy(folder: Path, configuration: str) -> list[str]:
    (folder / "haproxy.cfg").write_text(configuration)
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


PROXIES = [("nginx", "nginx.conf", nginx), ("haproxy", "haproxy.cfg", haproxy)]


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Processes]:
    async with open_recorder(database_url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), 30)
    settings = {"CONTENTLOG_TRUSTED_PROXIES": "127.0.0.1", "CONTENTLOG_IP_RATE_LIMIT": str(LIMIT)}
    with running(database_url, tmp_path / "log", **settings) as processes:
        await processes.caught_up()
        yield processes


@contextmanager
def proxy(
    folder: Path,
    api: int,
    file: str,
    command: Callable[[Path, str], list[str]],
    second: int | None = None,
) -> Iterator[str]:
    """Runs the proxy with the project's configuration, except for its port, the API's port and the
    certificate. ``second``: the port of a second API process."""
    port = free_port()
    certificate = folder / "tls.pem"
    make_certificate(certificate)
    text = (FOLDER / file).read_text()
    for was, becomes in (
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("bind :443 ", f"bind 127.0.0.1:{port} "),
        ("127.0.0.1:8080", f"127.0.0.1:{api}"),
        *([("# server 10.0.0.2:8080", f"server 127.0.0.1:{second}")] if second else []),
        ("/etc/contentlog/tls.pem", str(certificate)),
    ):
        text = text.replace(was, becomes)
    environment = {**os.environ, **({"API_2": f"127.0.0.1:{second}"} if second else {})}
    process = subprocess.Popen(command(folder, text), env=environment)
    try:
        yield f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def make_certificate(file: Path) -> None:
    key = file.with_suffix(".key")
    subprocess.run(
        [*OPENSSL.split(), "-keyout", key, "-out", file], check=True, capture_output=True
    )
    file.write_bytes(file.read_bytes() + key.read_bytes())


def curl(url: str, *options: str) -> Response:
    """Sends a request. Raises CalledProcessError if there is no response."""
    done = subprocess.run(
        ["curl", "--silent", "--insecure", "--include", "--max-time", "60", *options, url],
        check=True,
        capture_output=True,
    )
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    first, *lines = head.decode().splitlines()
    version, status, *_ = first.split()
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Response(version, int(status), headers, body)


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if check():
                return
        except subprocess.CalledProcessError:
            pass
        time.sleep(0.1)
    raise AssertionError("not within the time")


@pytest.mark.parametrize(("program", "file", "command"), PROXIES, ids=["nginx", "haproxy"])
async def test_a_proxy_with_our_configuration_passes_on_what_the_api_needs(
    service: Processes, tmp_path: Path, program: str, file: str, command: Any
) -> None:
    need(program)
    with proxy(tmp_path, service.port, file, command) as url:
        until(lambda: responds(url))
        listed = curl(f"{url}/v1/content/posts?status=published", "-H", AUTHORIZATION)
        assert (listed.version, listed.status) == ("HTTP/2", 200)
        assert json.loads(listed.body)["pagination"]["limit"] == 10
        assert listed.headers["strict-transport-security"] == "max-age=31536000"
        tag = listed.headers["etag"]
        again = (AUTHORIZATION, f"If-None-Match: {tag}")
        same = curl(f"{url}/v1/content/posts?status=published", "-H", again[0], "-H", again[1])
        assert same.status == 304
        packed = curl(f"{url}/v1/content/posts", "-H", AUTHORIZATION, "-H", "Accept-Encoding: gzip")
        assert packed.headers["content-encoding"] == "gzip"
        for path in ("/metrics", "/%6detrics"):
            assert curl(f"{url}{path}").status == 404, path

        large = tmp_path / "large.json"
        large.write_text(json.dumps({"contentTypeSlug": "posts", "title": "x" * 3_900_000}))
        refused = curl(f"{url}/v1/content", "-H", AUTHORIZATION, "--data-binary", f"@{large}")
        assert refused.status == 400, refused
        table = tmp_path / "largest.csv"
        table.write_text("Title\n".ljust(LIMITS.upload_bytes, "x"))
        form = ("-F", f"file=@{table}", "-F", "contentType=posts")
        assert curl(f"{url}/v1/imports", "-H", AUTHORIZATION, *form).status == 202
        until(lambda: is_counted_by_address(url))

        service.kill("api")
        until(lambda: curl(f"{url}/v1/content/posts", "-H", AUTHORIZATION).status in (502, 503))
        service.start("api")
        until(lambda: curl(f"{url}/v1/content/posts", "-H", AUTHORIZATION).status == 200)


@pytest.mark.parametrize(("program", "file", "command"), PROXIES, ids=["nginx", "haproxy"])
async def test_no_request_fails_while_api_processes_restart_one_after_another(
    database_url: str, tmp_path: Path, program: str, file: str, command: Any
) -> None:
    need(program)
    async with open_recorder(database_url) as recorder:
        await prepare(Repository(recorder, EventMapper()))
    statuses: list[int] = []
    with (
        running(database_url, tmp_path / "first.log") as first,
        apis([Processes(database_url, tmp_path / "second.log")]) as [second],
        proxy(tmp_path, first.port, file, command, second.port) as url,
    ):
        for process in (first, second):
            await process.caught_up()
        until(lambda: responds(url))
        clients = [asyncio.create_task(create(url, number, statuses)) for number in range(8)]
        for process in (first, second):
            await asyncio.sleep(NOTICED)
            api = process.running["api"]
            api.terminate()
            await asyncio.to_thread(api.wait, PATIENCE)
            process.start("api")
            await asyncio.to_thread(until, partial(responds, process.url))
        await asyncio.sleep(NOTICED)
        for client in clients:
            client.cancel()
        ended = await asyncio.gather(*clients, return_exceptions=True)
    assert {type(one) for one in ended} == {asyncio.CancelledError}, ended
    assert set(statuses) == {200}


async def create(url: str, client: int, statuses: list[int]) -> None:
    """Creates entries one after another, on one connection."""
    connector = aiohttp.TCPConnector(ssl=False, limit=1)
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with aiohttp.ClientSession(url, connector=connector, headers=headers) as session:
        for number in itertools.count():
            body = {"contentTypeSlug": "posts", "title": f"{client} {number}"}
            async with session.post("/v1/content", json=body) as response:
                await response.read()
                statuses.append(response.status)
            await asyncio.sleep(0.01)


def responds(url: str) -> bool:
    return curl(f"{url}/healthz").status == 200


def need(program: str) -> None:
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"{program} is not installed")


def is_counted_by_address(url: str) -> bool:
    """Checks that requests from one address share a rate limit, whatever X-Forwarded-For says.
    Returns False if a new minute, in which counting starts again, begins meanwhile."""
    remaining, minutes = [], set()
    for last in range(3):
        forged = f"X-Forwarded-For: 203.0.113.{last}"
        response = curl(f"{url}/v1/content/posts", "-H", forged)
        assert response.status == 401
        assert response.headers["x-ratelimit-limit"] == str(LIMIT)
        remaining.append(int(response.headers["x-ratelimit-remaining"]))
        minutes.add(response.headers["x-ratelimit-reset"])
    if len(minutes) > 1:
        return False
    assert remaining[0] > remaining[1] > remaining[2]
    return True
