"""Our readings: plans."""

from __future__ import annotations

import pytest

from tests.conformance.cases import get, post
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import says
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.windows import limit, statuses
from tests.contract import Contract
from tests.integration.api.server import Server, serving
from write_side import commands as c
from write_side.domain.events import Plan
from write_side.domain.refusals import PlanLimitReached

pytestmark = pytest.mark.asyncio(loop_scope="package")

STAGING = "/v1/content?environment=staging"


async def test_plans_1_entries_are_counted_per_environment(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(entries=1, staging=True)
    staging = await workspace.builder.staging()
    await staging.content_type()
    for target in ("/v1/content", STAGING):
        new = [{"contentTypeSlug": "posts", "title": title} for title in ("One", "Two")]
        answers = [await workspace.send(post(body, target)) for body in new]
        assert statuses(answers) == [200, 402]


async def test_plans_1_entries_of_all_types_statuses_and_languages_count(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(entries=3)
    await workspace.builder.entry("archived", status="archived")
    await workspace.builder.entry("french", language="fr-FR")
    await workspace.create("Ada", type_slug="authors")
    says("limit of 3 entries")(await workspace.create("One too many"))


async def test_plans_1_a_limit_of_0_allows_no_entries(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace(entries=0)
    says("limit of 0 entries")(await workspace.create("One too many"))


async def test_plans_2_a_deleted_entry_frees_its_place(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace(entries=1)
    entry_id = (await workspace.create("One")).data["id"]
    assert (await workspace.create("Two")).status == 402
    await workspace.builder.delete(entry_id)
    assert statuses([await workspace.create("Two"), await workspace.create("Three")]) == [200, 402]


async def test_plans_3_content_types_are_limited_until_one_is_removed(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(content_types=2)
    with pytest.raises(PlanLimitReached):
        await workspace.builder.content_type(slug="third")
    await workspace.builder.execute(
        c.RemoveContentType, scope=workspace.builder.scope, slug="posts"
    )
    await workspace.builder.content_type(slug="third")
    shown = await workspace.read("/v1/content-types")
    assert [one["slug"] for one in shown] == ["authors", "third"]


async def test_plans_4_entries_are_unlimited_if_not_set(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace(content_types=2)
    answers = [await workspace.create(f"Entry {n}") for n in range(12)]
    assert set(statuses(answers)) == {200}


async def test_plans_4_content_types_are_unlimited_if_not_set(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(entries=1)
    for n in range(8):
        await workspace.builder.content_type(slug=f"type-{n}")
    assert len(await workspace.read("/v1/content-types")) == 10


async def test_plans_5_the_limit_is_600_requests_a_minute_if_not_set(
    live: Server, contract: Contract, open_workspace: OpenWorkspace
) -> None:
    unset, own = await open_workspace(), await open_workspace(requests_per_minute=7)
    limits = {"key_rate_limit": 600, "ip_rate_limit": 0}
    async with serving(live.url, live.repository, projector=False, **limits) as server:
        client = CheckedClient(server.session, contract)
        for workspace, expected in ((unset, 600), (own, 7)):
            assert limit(await client.send(get("/v1/content", key=workspace.key))) == expected


async def test_plans_6_staging_is_not_included_if_not_set(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace(entries=1)
    refused = await workspace.get(STAGING)
    assert refused.status == 402
    says("staging environment is not included in your team's plan")(refused)


async def test_plans_7_a_refusal_removes_nothing(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    for title in ("One", "Two", "Three"):
        await workspace.create(title)
    await workspace.builder.execute(c.ChangePlan, workspace=workspace.slug, plan=Plan(entries=1))
    assert (await workspace.create("Four")).status == 402
    assert [shown["slug"] for shown in await workspace.read("/v1/content")] == [
        "three",
        "two",
        "one",
    ]


async def test_plans_7_a_smaller_plan_hides_staging_and_keeps_it(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(staging=True)
    staging = await workspace.builder.staging()
    await staging.content_type()
    await staging.entry("kept")
    for plan, status in ((Plan(), 402), (Plan(staging=True), 200)):
        await workspace.builder.execute(c.ChangePlan, workspace=workspace.slug, plan=plan)
        await workspace.until(STAGING, status)
    assert [shown["slug"] for shown in await workspace.read(STAGING)] == ["kept"]
