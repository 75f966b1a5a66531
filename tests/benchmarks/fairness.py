"""One workspace attacks while another one reads: the longest wait of a read, for each attack."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from api.http.open_connections import raise_open_files
from tests.benchmarks import attack_shapes, attacks
from tests.benchmarks.attack_shapes import EDIT, VIEW, Shape
from tests.benchmarks.http import LIMITS, settle
from tests.benchmarks.probe import KINDS
from tests.benchmarks.workload import OPERATOR, SECRET, append_entries, created, prepare
from tests.processes import Processes, running
from write_side.commands import Command, CreateContentType, CreateWorkspace, IssueKey
from write_side.dispatch import execute
from write_side.domain.identity import Scope, entry_stream
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

BOUND = 0.25
"""The most seconds that a request of another workspace may wait."""
PATIENCE = 15.0
OPEN_FILES = 1024
"""The open-file limit of the service's processes, the default of many systems."""
MALLORY = Scope("mallory", "production")
_UNCOUNTED = "rate limits are not counted"
_KEYS = {VIEW: ("content.view",), EDIT: ("content.view", "content.edit")}


class Outcome(Struct, frozen=True):
    """The outcome of an attack. ``waits`` has the longest wait in seconds for each kind of read."""

    shape: Shape
    answer: str
    seconds: float
    waits: dict[str, float]


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), 200)
        ids = await _prepare_attacker(repository)
    raise_open_files()
    environment = {**LIMITS, "CONTENTLOG_TRUSTED_PROXIES": "127.0.0.1"}
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with running(url, log, OPEN_FILES, **environment) as processes:
            await processes.caught_up(120)
            await settle(url)
            outcomes = await _attack_all(processes, ids)
        lines = log.read_text("utf-8", "replace").splitlines()
    return _report(outcomes, lines)


async def prepare_workspace(repository: Repository) -> None:
    """Creates the attacker's workspace, with its keys and a content type."""
    commands: list[Command] = [
        CreateWorkspace(actor=OPERATOR, workspace="mallory", name="Mallory"),
        *(
            IssueKey(
                actor=OPERATOR,
                workspace="mallory",
                name=secret,
                permissions=permissions,
                secret_hash=attack_shapes.secret_hash(secret),
            )
            for secret, permissions in _KEYS.items()
        ),
        CreateContentType(
            actor=OPERATOR,
            scope=MALLORY,
            slug="posts",
            name="Posts",
            fields=attack_shapes.FIELDS,
        ),
    ]
    for command in commands:
        await execute(command, repository)


async def _prepare_attacker(repository: Repository) -> dict[str, str]:
    """Appends the attacker's entries without validation, since an earlier release may have accepted
    them."""
    await prepare_workspace(repository)
    content_type = await repository.content_type(MALLORY, "posts")
    ids = {}
    for slug, fields in attack_shapes.stored_values().items():
        title = "t" * attack_shapes.MB if slug == "long-title" else slug
        event = structs.replace(
            created(content_type, 0),
            workspace="mallory",
            slug=slug,
            title=title,
            fields=fields,
        )
        stored = EventMapper().to_stored_event(StreamEvent(entry_stream(event.entry_id), 1, event))
        await repository.recorder.append(Append(events=[stored]))
        ids[slug] = event.entry_id
    return ids


async def _attack_all(processes: Processes, ids: dict[str, str]) -> list[Outcome]:
    cookie = await _sign_in(processes.port)
    shapes = [*attack_shapes.pages(ids, cookie), *attacks.requests(cookie)]
    chosen = os.environ.get("SHAPES", "")
    async with probing(processes.port) as reads:
        await asyncio.sleep(1)
        return [
            await _attack(processes.port, shape, reads)
            for shape in shapes
            if re.search(chosen, shape.name)
        ]


async def _sign_in(port: int) -> str:
    headers = "Sec-Fetch-Site: same-origin\r\n"
    shape = Shape("", "/dashboard/sign-in", f"key={EDIT}".encode(), headers)
    head, _ = await _sent(port, shape)
    found = re.search(r"(?i)set-cookie: (contentlog_session=[^;]+)", head)
    assert found is not None, head
    return f"Cookie: {found[1]}\r\n"


async def _attack(port: int, shape: Shape, reads: list[tuple[str, float, float]]) -> Outcome:
    await asyncio.sleep(0.2)
    began = time.monotonic()
    answers = await asyncio.gather(*(_status(port, shape) for _ in range(shape.at_once)))
    ended = time.monotonic()
    # A read that began before the end may have waited for work that the attack left behind.
    await asyncio.sleep(0.2)
    while _last_begun(reads) < ended:  # noqa: ASYNC110 - another process reads
        await asyncio.sleep(0.05)
    waits = {
        kind: max(wait for name, at, wait in reads if name == kind and at + wait >= began)
        for kind in KINDS
    }
    outcome = Outcome(shape, ", ".join(sorted(set(answers))), ended - began, waits)
    print(_row(outcome), file=sys.stderr, flush=True)
    return outcome


def _last_begun(reads: list[tuple[str, float, float]]) -> float:
    """The time by which every kind of read has started again."""
    return min(max(began for kind, began, _ in reads if kind == one) for one in KINDS)


async def _status(port: int, shape: Shape) -> str:
    try:
        async with asyncio.timeout(PATIENCE):
            head, length = await _sent(port, shape)
    except TimeoutError:
        return "no answer"
    except (OSError, asyncio.IncompleteReadError):
        return "closed"
    return f"{head.split()[1]} ({length / 1000:,.0f} kB)"


async def _sent(port: int, shape: Shape) -> tuple[str, int]:
    """Sends the request. Returns the response's head and the length of its body."""
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(shape.silent)]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sending = asyncio.create_task(_send(writer, shape))
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = 0
        while chunk := await reader.read(1 << 20):
            length += len(chunk)
        return head, length
    finally:
        sending.cancel()
        for _, one in (*silent, (reader, writer)):
            one.transport.abort()


async def _send(writer: asyncio.StreamWriter, shape: Shape) -> None:
    request = shape.request()
    if not shape.pause:
        writer.write(request)
        return
    for at in range(0, len(request), 8):
        writer.write(request[at : at + 8])
        await asyncio.sleep(shape.pause)


@asynccontextmanager
async def probing(port: int) -> AsyncIterator[list[tuple[str, float, float]]]:
    """Yields the other workspace's reads so far: kind, start and wait. None may fail."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.benchmarks.probe",
        str(port),
        SECRET,
        stdout=asyncio.subprocess.PIPE,
    )
    reads: list[tuple[str, float, float]] = []

    async def collect() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            kind, began, waited, status = line.decode().split()
            assert status == "200", line
            reads.append((kind, float(began), float(waited)))

    collecting = asyncio.create_task(collect())
    try:
        yield reads
    finally:
        process.kill()
        await process.wait()
        await collecting


def _report(outcomes: Iterable[Outcome], lines: list[str]) -> str:
    uncounted = sum(_UNCOUNTED in line for line in lines)
    others = sum('"event":"request"' not in line for line in lines)
    slow = sorted(outcomes, key=lambda one: -max(one.waits.values()))
    over = sum(max(one.waits.values()) > BOUND for one in slow)
    lines = [
        f"### Fairness: {len(slow)} attacks, while another workspace reads and writes",
        "",
        f"The longest wait was over {BOUND * 1000:.0f} ms in {over} of them. "
        f"The rate counter was taken for unreachable {uncounted} times. Beside those of requests, "
        f"the service logged {others} lines.",
        "",
        "| attack | answer | seconds | list of 10 | single entry | /healthz | POST | GraphQL |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
        *map(_row, slow),
    ]
    return "\n".join(lines) + "\n"


def _row(outcome: Outcome) -> str:
    waits = " | ".join(f"{wait * 1000:,.0f} ms" for wait in outcome.waits.values())
    return f"| {outcome.shape.name} | {outcome.answer} | {outcome.seconds:.1f} | {waits} |"
