"""The cost limit per workspace and minute, which applies in addition to the request limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from api.errors import CostLimitExceeded
from api.rate_limits.limits import (
    IMPORTED_ROW,
    PROJECTED_BYTES,
    SECOND,
    Limits,
    import_cost,
)
from tests.integration.api.dashboard import signed_in
from tests.integration.api.graphql import data, run_query
from tests.integration.api.import_requests import send
from tests.integration.api.server import PATIENCE, Answer, Client, Server, serving
from tests.integration.api.test_limits import PATH
from tests.integration.api.wizard import Wizard, csv
from tests.integration.projector.sample_log import BODY, LEAD, ContentBuilder, raws
from write_side.domain.events import Translation
from write_side.domain.locales import supported_locales
from write_side.imports.file_reader import Charge, read_file
from write_side.imports.table import Row, Table
from write_side.repository import Repository

LIMIT = 400
FULL = "{ contentEntries(limit: %d) { data { id title } } }"
Start = Callable[..., Awaitable[Server]]


@pytest.fixture
async def start(
    database_url: str, repository: Repository, long_window: None
) -> AsyncIterator[Start]:
    """Starts a service with this cost limit."""
    async with AsyncExitStack() as stack:

        async def started(limit: int = LIMIT, *, projector: bool = False) -> Server:
            return await stack.enter_async_context(
                serving(
                    database_url,
                    repository,
                    projector=projector,
                    cost_limit=limit,
                    # A write need not wait where there is no projector.
                    read_your_writes=PATIENCE if projector else 0.1,
                )
            )

        yield started


def check_refused(answer: Answer, limit: int = LIMIT) -> None:
    wait = answer.headers["Retry-After"]
    assert answer.status == 429, answer.text
    assert answer.body == {
        "error": "Cost limit exceeded: this workspace has used its "
        f"{limit:,} units of this minute; request less at a time, please retry in {wait} seconds"
    }
    assert answer.headers["X-RateLimit-Limit"] == "1000000", "it counts requests"
    assert int(answer.headers["X-RateLimit-Remaining"]) > 0


async def test_a_query_is_refused_before_it_runs_and_a_smaller_one_passes(start: Start) -> None:
    server = await start()
    await server.workspace()
    assert (await run_query(server.client(), FULL % 30)).body["data"]
    check_refused(await run_query(server.client(), FULL % 30))
    assert (await run_query(server.client(), "{ contentTypes { id } }")).status == 429
    assert (await server.client().get(PATH)).status == 429, "it is known to be spent"


async def test_bytes_are_charged_and_each_workspace_has_its_own_limit(
    start: Start,
) -> None:
    server = await start(projector=True)
    acme = await server.workspace()
    await server.workspace("rival")
    await acme.content_type(BODY)
    await acme.entry("long", fields=raws(body="x" * 25_000))
    await server.caught_up()
    for _attempt in range(50):
        answer = await server.client().get(PATH)
        if answer.status == 429:
            break
        await asyncio.sleep(0.01)
    # Requests pass until the server knows that the limit is spent.
    assert _attempt >= 3
    check_refused(answer)
    assert (await server.client("secret-of-rival").get(PATH)).status == 200


async def test_the_bytes_of_every_response_with_content_are_charged(
    server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(BODY)
    await server.caught_up()
    client, charged = server.client(), list[int]()
    monkeypatch.setattr(Limits, "charge_bytes", lambda *args: charged.append(args[-1]))
    sent = await send(client)
    paths = ("content", "content-types", "changes", "media", "locales", "openapi.json")
    asked_for = [sent.headers["Location"], *(f"/v1/{path}" for path in paths)]
    answers = [sent, *[await client.get(path) for path in asked_for]]
    assert charged == [len(answer.text.encode()) for answer in answers]


async def test_processes_share_the_limit(start: Start) -> None:
    first, second = await start(), await start()
    await first.workspace()
    assert (await run_query(first.client(), FULL % 30)).body["data"]
    check_refused(await run_query(second.client(), FULL % 30))


async def test_zero_disables_the_limit(start: Start) -> None:
    server = await start(0)
    await server.workspace()
    for _ in range(3):
        assert (await run_query(server.client(), FULL % 100)).body["data"]


async def test_a_document_costs_the_time_that_its_preparation_takes(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.rate_limits.limits.SECOND", 10**9)
    server = await start()
    await server.workspace()
    # 480 fragments that are compared with each other but read nothing.
    spread = " ".join(f"...F{n}" for n in range(480))
    fragments = " ".join(f"fragment F{n} on Query {{ __typename }}" for n in range(480))
    await run_query(server.client(), f"{{ {spread} }} {fragments}")
    check_refused(await run_query(server.client(), FULL % 1))


def test_an_import_costs_more_with_more_cells_and_references() -> None:
    cells = ("One", "", "a,b,c")
    table = Table("a.csv", ("Title", "Body", "About"), (Row(2, cells), Row(3, cells)))
    assert import_cost(table) == 2 * (IMPORTED_ROW + 3 + 2)


@pytest.mark.parametrize("columns", [1, 40])
async def test_rows_cells_and_worker_seconds_of_an_import_are_charged(
    columns: int, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 12.0

    async def slow(*args: object, charge: Charge, **named: object) -> Table:
        charge(seconds)
        return await read_file(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("write_side.imports.uploads.read_file", slow)
    targets, more = ("Title", *[""] * (columns - 1)), ",x" * (columns - 1)
    check = 10 * (IMPORTED_ROW + columns)
    server = await start(int(seconds * SECOND) + check * 3 // 2, projector=True)
    acme = await server.workspace()
    await acme.content_type()
    await server.caught_up()
    async with signed_in(server) as browser:
        wizard = Wizard(browser)
        import_id = await wizard.uploaded(
            csv("Title" + more, *(f"Row {n}{more}" for n in range(10)))
        )
        assert (await wizard.mapped(import_id, *targets)).status == 303
        repeats = await wizard.sent(import_id, "repeats", ("repeats", "skip"))
        assert repeats.status == 429, (
            "choosing what to do with repeated slugs checks the rows again"
        )
        refused = await wizard.mapped(import_id, *targets)
        assert refused.status == 429
        assert "Cost limit exceeded" in refused.text
        assert int(refused.headers["Retry-After"]) >= 1


LARGE = "x" * 100_000
OF_LARGE = 3 * len(LARGE) // (2 * PROJECTED_BYTES)
"""A limit that covers projecting an entry of 100,000 bytes once, but not twice."""
UPDATE = """
mutation ($id: ID!, $input: UpdateContentEntryInput!) {
  updateContentEntry(id: $id, input: $input) { success message }
}"""


async def created(client: Client, slug: str, body: str) -> Answer:
    return await client.post(
        {"contentTypeSlug": "posts", "title": slug, "slug": slug, "fields": {"body": body}}
    )


async def test_the_projection_of_a_create_is_charged_before_the_append(
    start: Start,
) -> None:
    server = await start(OF_LARGE, projector=True)
    for workspace in ("acme", "rival"):
        await (await server.workspace(workspace)).content_type(BODY)
    await server.caught_up()
    client = server.client()
    for n in range(20):
        assert (await created(client, f"small-{n}", "x")).status == 200
    assert (await created(client, "large", LARGE)).status == 200
    head = await server.repository.recorder.head()
    check_refused(await created(client, "larger", LARGE), OF_LARGE)
    assert await server.repository.recorder.head() == head
    assert (await created(server.client("secret-of-rival"), "large", LARGE)).status == 200


@pytest.mark.slow
async def test_an_update_is_charged_for_projecting_all_locales(
    start: Start,
) -> None:
    server = await start(15_000)
    acme = await server.workspace()
    await acme.content_type(BODY, LEAD)
    one = await acme.entry("one", fields=raws(body=LARGE[:5_000]))
    await acme.update(
        one,
        translations={
            locale: Translation(None, raws(lead="L"))
            for locale in sorted(supported_locales() - {"en-US"})[:120]
        },
    )
    word = {"fields": {"lead": "word"}}
    done = await data(server.client(), UPDATE, id=one, input=word)
    assert done["updateContentEntry"]["success"]
    refused = await data(server.client(), UPDATE, id=one, input={"fields": {"lead": "other"}})
    assert not refused["updateContentEntry"]["success"]
    assert "Cost limit exceeded" in refused["updateContentEntry"]["message"]


@pytest.mark.slow
async def test_imports_reverts_and_restores_are_charged_for_projection(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start(10**6, projector=True)
    acme = await server.workspace()
    await acme.content_type()
    one = await acme.entry("one", fields=raws(body=LARGE))
    await acme.update(one, fields=raws(body="short"))
    await server.caught_up()

    async def refuse(size: int) -> None:
        assert size > 0
        raise CostLimitExceeded(7, LIMIT)

    async with signed_in(server) as browser:
        wizard = Wizard(browser)
        file = csv("Title,Slug", "Row,one")
        done = await wizard.imported(file, "Title", "Slug", update="yes")
        other = await wizard.previewed(
            csv("Title,Slug", "Again,one"), "Title", "Slug", update="yes"
        )
        digest = await wizard.digest(other)
        restored = {"version": "1", "expected": "3"}
        monkeypatch.setattr(Limits, "projection", lambda *_: refuse)
        for answer in (
            await wizard.run(other, digest),
            await wizard.sent(done, "revert"),
            await browser.post(f"/dashboard/entries/{one}/restore", restored),
        ):
            assert answer.status == 429, answer.text
            assert "Cost limit exceeded" in answer.text
