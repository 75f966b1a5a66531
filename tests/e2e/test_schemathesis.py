"""Schemathesis sends valid and invalid requests, generated from the API's OpenAPI document.

All checks are on, except the contradictions named in ``schemathesis_hooks.py``. The suite sends a
bounded number of requests, the same each time. The long run: CONTENTLOG_FUZZ_REQUESTS=20000
deploy/dev test -s tests/e2e/test_schemathesis.py
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.projector.sample_log import STAGES, ContentBuilder, raws
from tests.processes import Processes, running
from write_side import commands as c
from write_side.domain.definition import Field, Option
from write_side.domain.identity import Scope
from write_side.repository import Repository

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("CONTENTLOG_FUZZ_REQUESTS", "0"))
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
SECRET = "a-key-for-schemathesis"
BOUNDED = ("--max-examples", "3", "--generation-deterministic")
FIELDS = (
    Field("body", "Body", "text"),
    Field("views", "Views", "number"),
    Field("featured", "Featured", "boolean"),
    Field("goes_live", "Goes live", "datetime"),
    Field("category", "Category", "select", options=(Option("news", "News"),)),
    Field("related", "Related", "reference", to=("posts",), multiple=True),
    Field("meta", "Meta", "json"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Question", "text"),)),
)
_COUNTED = re.compile(
    r'^contentlog_requests_total\{method="(\w+)",route="([^"]+)",status="(\d+)"\} (\S+)$', re.M
)


class Kind(NamedTuple):
    """A kind of response, as the API's metrics count it."""

    method: str
    route: str
    status: int


@pytest.fixture
async def api(
    database_url: str, repository: Repository, tmp_path: Path
) -> AsyncIterator[Processes]:
    await _magazine(repository)
    log = tmp_path / "log"
    # On a slow machine, reads wait instead of returning 503 for a change not yet visible.
    options = {"CONTENTLOG_LOG_FORMAT": "json", "CONTENTLOG_READ_YOUR_WRITES_MS": "60000"}
    with running(database_url, log, **options) as processes:
        await processes.caught_up()
        yield processes
    faults = [line for line in log.read_text().splitlines() if '"level":"error"' in line]
    assert faults == []


async def _magazine(repository: Repository) -> None:
    production = ContentBuilder(repository, Scope("acme", "production"))
    await production.workspace(staging=True)
    staging = await production.staging()
    for builder in (production, staging):
        await builder.content_type(Field("bio", "Bio", "text"), slug="authors")
        await builder.content_type(*FIELDS, stages=STAGES)
        for slug in ("hello", "a/b"):
            entry = await builder.entry(slug, fields=raws(body=slug * 500), status="published")
            await builder.translate(entry, "fr-FR", title="Bonjour")
    await production.execute(
        c.IssueKey,
        workspace="acme",
        name="schemathesis",
        permissions=("content.view", "content.edit"),
        secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
    )


OF_FILES_AND_IDS = {
    ("GET", "/v1/imports/{id}"),
    ("GET", "/v1/media/{id}"),
    ("POST", "/v1/imports"),
    ("POST", "/v1/imports/{id}/revert"),
}
"""These need a spreadsheet, or the id of an existing object, which random data cannot provide."""


async def test_every_response_matches_the_document(api: Processes, tmp_path: Path) -> None:
    if REQUESTS == 0:
        await run_schemathesis(api, tmp_path, *BOUNDED)
    seed = 0
    while sum(answers(api).values()) < REQUESTS:
        seed += 1
        await run_schemathesis(api, tmp_path, "--max-examples", "200", "--seed", str(seed))
    found = answers(api)
    report(found, seed)
    assert not [kind for kind in found if kind.status >= 500]
    succeeded = {(kind.method, kind.route) for kind in found if kind.status in (200, 204)}
    assert succeeded >= operations(api) - OF_FILES_AND_IDS


def report(found: Counter[Kind], seeds: int) -> None:
    """Prints the counts; pytest -s shows them."""
    lines = [f"{count:7} {' '.join(map(str, kind))}" for kind, count in sorted(found.items())]
    print("", *lines, f"{sum(found.values())} requests, {seeds} seeds", sep="\n")  # noqa: T201


async def run_schemathesis(api: Processes, tmp_path: Path, *options: str) -> None:
    """Runs schemathesis once, which must find nothing. The document is requested without the key:
    with it, it would describe this workspace."""
    document = tmp_path / "openapi.json"
    document.write_bytes(await asyncio.to_thread(read_document, api))
    run = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        *("--no-color", "--config-file", CONFIGURATION),
        *("run", str(document), "--url", api.url, "-H", f"Authorization: Bearer {SECRET}"),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=CONFIGURATION.parents[2],
    )
    report, _ = await run.communicate()
    assert run.returncode == 0, report.decode()


def read_document(api: Processes) -> bytes:
    with urllib.request.urlopen(f"{api.url}/v1/openapi.json") as response:
        content: bytes = response.read()
    return content


def operations(api: Processes) -> set[tuple[str, str]]:
    paths = json.loads(read_document(api))["paths"]
    return {(method.upper(), path) for path, methods in paths.items() for method in methods}


def answers(api: Processes) -> Counter[Kind]:
    with urllib.request.urlopen(f"{api.operators_url}/metrics") as response:
        counted = _COUNTED.findall(response.read().decode())
    return Counter(
        {
            Kind(method, route, int(status)): int(float(count))
            for method, route, status, count in counted
        }
    )
