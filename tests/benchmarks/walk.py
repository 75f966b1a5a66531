"""The functions and modules that one create, list, import and rebuild enter: the code that a reader
has to walk through.

It counts the product's own functions in the process that runs the request, from request to
response, after two requests of the same kind. Child processes (the projector, the file reader,
rebuild workers) are not counted. For a create and a list, only functions that each of several
requests enters count, which excludes most background work.

``WALK=FOLDER`` writes the names of the functions to a file for each.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner

from api.server import application, open_service
from api.settings import ApiSettings
from deploy.cli import cli
from tests.benchmarks.workload import SECRET, fill
from tests.processes import running

ROOT = Path(__file__).parents[2]
PACKAGES = ("write_side", "read_side", "projector", "api", "deploy")
ENTRIES = 100
REQUESTS = 10
KEY = {"Authorization": f"Bearer {SECRET}"}
IMPORT = ("import", "{file}", "--workspace", "bench", "--environment", "production")
NAMELESS = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")

Entered = set[tuple[str, str]]


async def measure(url: str, _other: str) -> str:
    await fill(url, ENTRIES)
    with TemporaryDirectory() as name, running(url, Path(name) / "log") as processes:
        await processes.caught_up()
        requests = await requests_entered(url)
        commands = await asyncio.to_thread(commands_entered, url, Path(name))
    lines = ["### The walk of a request", "", "| what | functions | modules |", "|---|--:|--:|"]
    for what, entered in (requests | commands).items():
        modules = len({module for module, _ in entered})
        lines.append(f"| {what} | {len(entered)} | {modules} |")
        if folder := os.environ.get("WALK"):
            listed = "\n".join(f"{module} {function}" for module, function in sorted(entered))
            (Path(folder) / f"{what.split()[0]}.txt").write_text(listed)
    return "\n".join(lines) + "\n"


async def requests_entered(url: str) -> dict[str, Entered]:
    settings = ApiSettings(event_store_url=url, read_model_url=url)
    async with open_service(settings) as service:
        runner = web.AppRunner(application(service))
        async with TestServer(runner.app) as server, aiohttp.ClientSession(headers=KEY) as client:
            number = iter(range(100))

            async def create() -> None:
                body = {"contentTypeSlug": "posts", "title": f"New {next(number)}"}
                async with client.post(server.make_url("/v1/content"), json=body) as response:
                    assert response.status == 200, await response.text()
                    assert response.headers.get("X-Content-Visible") != "false"

            async def read() -> None:
                async with client.get(server.make_url("/v1/content/posts")) as response:
                    assert response.status == 200, await response.text()

            return {
                "create (API process)": await entered_by(create),
                "list (API process)": await entered_by(read),
            }


async def entered_by(request: Callable[[], Awaitable[None]]) -> Entered:
    for _ in range(2):
        await request()
    each: list[Entered] = []
    for _ in range(REQUESTS):
        with watched() as entered:
            await request()
        each.append(entered)
    return set.intersection(*each)


def commands_entered(url: str, folder: Path) -> dict[str, Entered]:
    environment = {
        "CONTENTLOG_EVENT_STORE_URL": url,
        "CONTENTLOG_READ_MODEL_URL": url,
        "CONTENTLOG_REBUILD_WORKERS": "1",
    }
    found = {}
    for round_ in range(2):
        file = folder / f"posts-{round_}.csv"
        file.write_text(f"Title,Summary\nRow {round_},One\nOther {round_},Two\n")
        steps = {
            "import (command)": [*(part.format(file=file) for part in IMPORT), "--type", "posts"],
            "rebuild (command)": ["rebuild"],
        }
        for what, arguments in steps.items():
            with watched() as entered:
                result = CliRunner().invoke(cli, arguments, env=environment)
            assert result.exit_code == 0, result.output
            found[what] = entered
    return found


@contextmanager
def watched() -> Iterator[Entered]:
    """Collects (module, function) of every product function that any thread enters."""
    entered: Entered = set()
    known: dict[CodeType, tuple[str, str] | None] = {}

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code not in known:
            known[code] = place_of(code)
        place = known[code]
        if place is not None:
            entered.add(place)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def place_of(code: CodeType) -> tuple[str, str] | None:
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT) or code.co_name in NAMELESS:
        return None
    relative = path.relative_to(ROOT)
    return (str(relative), code.co_qualname) if relative.parts[0] in PACKAGES else None
