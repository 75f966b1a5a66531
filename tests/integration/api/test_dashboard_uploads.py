"""An upload is deleted once it has been imported."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.wizard import wizard_steps
from tests.integration.api.dashboard import signed_in
from tests.integration.api.server import Server
from tests.integration.api.wizard import ATTRIBUTES, Wizard, csv
from tests.integration.projector.sample_log import ContentBuilder
from tests.integration.write_side.append_locks import connected

ROWS = csv("Title,Slug,Status", "New,,draft")


@pytest.fixture
async def wizard(server: Server, acme: ContentBuilder) -> AsyncIterator[Wizard]:
    await acme.content_type()
    await server.caught_up()
    async with signed_in(server) as browser:
        yield Wizard(browser)


async def test_an_imported_file_is_deleted(
    wizard: Wizard, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = await wizard.uploaded(ROWS)
    import_id = await wizard.previewed(ROWS, *ATTRIBUTES)
    digest = await wizard.digest(import_id)
    assert (await wizard.run(import_id, digest)).status == 303
    async with connected(server.url) as connection:
        kept = await connection.fetch("SELECT id::text FROM write_side.upload")
    assert [row["id"] for row in kept] == [begun]

    # A double click: the second request is checked before the first one has imported the file.
    seen: list[bool] = []
    is_imported = wizard_steps.is_imported

    async def late(request: DashboardRequest) -> bool:
        seen.append(await is_imported(request))
        return seen[-1] and len(seen) > 1

    monkeypatch.setattr(wizard_steps, "is_imported", late)
    again = await wizard.run(import_id, digest)
    where = f"/dashboard/imports/{import_id}"
    assert (again.status, again.headers["Location"], seen) == (303, where, [True, True])
