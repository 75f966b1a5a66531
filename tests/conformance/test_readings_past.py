"""Our readings: what ``asOf`` returns (README, «History»)."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import entry, error, says, slugs
from tests.conformance.isolated_workspace import IsolatedWorkspace, OpenWorkspace
from tests.conformance.magazine import HARBOUR
from tests.conformance.test_readings_entries import drafted

pytestmark = pytest.mark.asyncio(loop_scope="package")

PATH = "/v1/content/posts/harbour"


@table(
    Case(
        "past.2 a malformed time is 400",
        get(f"{PATH}?asOf=yesterday"),
        400,
        says("yesterday", "2026-01-31T09:30:00Z"),
    ),
    Case(
        "past.2 a day that the calendar has not is 400",
        get(f"{PATH}?asOf=2026-02-30"),
        400,
        says("2026-02-30"),
    ),
    Case(
        "past.2 a + that was not encoded is read as one",
        get(f"{PATH}?asOf=2001-01-01T09:30:00+02:00"),
        404,
        error("Content type not found"),
    ),
    Case(
        "past.2 a future time is 400",
        get(f"{PATH}?asOf=9999-12-31"),
        400,
        says("is in the future", "2026-01-31T09:30:00Z"),
    ),
    Case(
        "past.2 before the type is looked for",
        get("/v1/content/nothing/nothing?asOf=yesterday"),
        400,
        says("yesterday"),
    ),
    Case(
        "past.2 after the key is",
        get(f"{PATH}?asOf=yesterday", key=None),
        401,
        error("Unauthorized - Invalid or missing API key"),
    ),
    Case("past.3 an empty time is an absent one", get(f"{PATH}?asOf="), 200, entry(id=HARBOUR)),
    Case(
        "past.5 before the type was made",
        get(f"{PATH}?asOf=2001-01-01T00:00:00%2B14:00"),
        404,
        error("Content type not found"),
    ),
    Case(
        "past.5 what there never was",
        get("/v1/content/nothing/nothing?asOf=2001-01-01"),
        404,
        error("Content type not found"),
    ),
    Case(
        "past.7 a malformed time of a list is 400",
        get("/v1/content/authors?status=draft&asOf=yesterday"),
        400,
        says("yesterday", "2026-01-31T09:30:00Z"),
    ),
    Case(
        "past.7 so is a future one",
        get("/v1/content?asOf=9999-12-31"),
        400,
        says("The time '9999-12-31T00:00:00.000Z' in asOf is in the future"),
    ),
    Case(
        "past.7 before the type was made",
        get("/v1/content?type=authors&asOf=2001-01-01"),
        404,
        error("Content type not found"),
    ),
    Case(
        "past.7 before there was any entry",
        get("/v1/content?asOf=2001-01-01"),
        200,
        slugs(),
    ),
    Case(
        "past.7 an empty time is an absent one",
        get("/v1/content/authors?status=draft&asOf="),
        200,
        slugs("ada"),
    ),
)
async def test_the_past(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def versions_of_a_deleted_entry(workspace: IsolatedWorkspace) -> tuple[Any, Any]:
    one = await drafted(workspace)
    first = await workspace.read("/v1/content/posts/one")
    await asyncio.sleep(0.002)  # times have milliseconds
    await workspace.builder.update(one, title="Two", status="published")
    second = await workspace.read("/v1/content/posts/one")
    await workspace.builder.delete(one)
    await workspace.wait_until_projected()
    return first, second


async def test_past_1_and_5_an_entry_as_it_was(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    first, second = await versions_of_a_deleted_entry(workspace)
    then = [
        await workspace.get(f"/v1/content/posts/one?asOf={e['updatedAt']}") for e in (first, second)
    ]
    assert [answer.body for answer in then] == [
        {"success": True, "data": version} for version in (first, second)
    ]
    assert (await workspace.get("/v1/content/posts/one?asOf=2001-01-01")).status == 404


async def test_past_4_a_time_without_an_offset_is_utc(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    await drafted(workspace)
    made = (await workspace.read("/v1/content/posts/one"))["createdAt"]
    for time in (made, made.removesuffix("Z"), made.replace("Z", "+00:00")):
        assert (await workspace.get(f"/v1/content/posts/one?asOf={quote(time)}")).status == 200
    midnight = await workspace.get(f"/v1/content/posts/one?asOf={made.partition('T')[0]}")
    assert midnight.status == (200 if made.endswith("T00:00:00.000Z") else 404)


async def test_past_6_a_slug_finds_the_entry_that_had_it_then(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    first = await drafted(workspace)
    had_by_first = (await workspace.read("/v1/content/posts/one"))["createdAt"]
    await asyncio.sleep(0.002)
    await workspace.builder.delete(first)
    second = await drafted(workspace)
    had_by_second = (await workspace.read("/v1/content/posts/one"))["createdAt"]
    for time, entry_id in ((had_by_first, first), (had_by_second, second)):
        found = (await workspace.get(f"/v1/content/posts/one?asOf={time}")).data
        assert found["id"] == entry_id


async def test_past_7_lists_as_they_were(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    first, second = await versions_of_a_deleted_entry(workspace)
    path = "/v1/content/posts?status={status}&asOf={updatedAt}"
    published = await workspace.get(path.format(**second))
    assert [entry["title"] for entry in published.data] == ["Two"]
    assert published.body["pagination"] == {"limit": 10, "offset": 0, "total": 1}
    across = await workspace.get(f"/v1/content?asOf={second['updatedAt']}")
    assert [(entry["title"], entry["status"]) for entry in across.data] == [("Two", "published")]
    assert (await workspace.get(path.format(**first))).data[0]["title"] == "One"
