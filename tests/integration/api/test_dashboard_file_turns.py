"""Files take memory, so requests with files are limited in concurrency. A request that gets no turn
can be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from api.context import PER_WORKSPACE
from api.dashboard.wizard import preview_step, upload_step, wizard_steps
from tests.integration.api.dashboard import Browser, signed_in
from tests.integration.api.server import Server
from tests.integration.api.wizard import Wizard, csv
from tests.integration.projector.sample_log import ContentBuilder
from tests.integration.write_side.append_locks import until_true
from write_side.domain.refusals import StaleDecision
from write_side.imports.uploads import find_upload, keep_upload

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILE = csv("Title,Body", "A title,A text")
BUSY = "Too many requests are waiting for the same work"


@pytest_asyncio.fixture(loop_scope="module")
async def browser(server: Server, acme: ContentBuilder) -> AsyncIterator[Browser]:
    await acme.content_type()
    await server.caught_up()
    async with signed_in(server) as browser:
        yield browser


async def test_files_are_stored_in_turns(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("write_side.fair_queue.PATIENCE", 0.1)
    goes_on, inside = asyncio.Event(), 0

    async def slow(*args: Any, **options: Any) -> Any:
        nonlocal inside
        inside += 1
        await goes_on.wait()
        return await keep_upload(*args, **options)

    monkeypatch.setattr(upload_step, "keep_upload", slow)
    sent = [asyncio.create_task(Wizard(browser).send(FILE)) for _ in range(PER_WORKSPACE)]
    await until_true(lambda: inside == PER_WORKSPACE)
    refused = await Wizard(browser).send(FILE)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert (BUSY in refused.text, inside) == (True, PER_WORKSPACE)
    goes_on.set()
    assert [answer.status for answer in await asyncio.gather(*sent)] == [303, 303]
    assert (await Wizard(browser).send(FILE)).status == 303


async def test_files_are_worked_on_in_turns(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    wizard, goes_on, inside = Wizard(browser), asyncio.Event(), 0
    import_id = await wizard.previewed(FILE, "Title", "body")

    async def slow(*args: Any) -> Any:
        nonlocal inside
        inside += 1
        await goes_on.wait()
        return await find_upload(*args)

    monkeypatch.setattr(wizard_steps, "find_upload", slow)
    monkeypatch.setattr("write_side.fair_queue.PATIENCE", 0.1)
    pages = [asyncio.create_task(wizard.page(import_id, step)) for step in ("columns", "preview")]
    await until_true(lambda: inside == PER_WORKSPACE)
    for refused in (
        await wizard.page(import_id, "preview"),
        await wizard.sent(import_id, "run", ("digest", "x")),
    ):
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        assert BUSY in refused.text
    assert inside == PER_WORKSPACE
    goes_on.set()
    assert [page.status for page in await asyncio.gather(*pages)] == [200, 200]
    assert (await wizard.run(import_id)).status == 303


async def test_an_import_whose_entries_are_being_edited_reports_it(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def overtaken(*_: Any) -> None:
        raise StaleDecision("Entries of this file are being edited: try again")

    monkeypatch.setattr(preview_step, "run_import", overtaken)
    wizard = Wizard(browser)
    refused = await wizard.run(await wizard.previewed(FILE, "Title", "body"))
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert "Entries of this file are being edited: try again" in refused.text
    assert "database" not in refused.text
