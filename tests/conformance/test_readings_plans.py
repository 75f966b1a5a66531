"""Our readings: plans."""

from __future__ import annotations

import pytest

from tests.conformance.cases import get, post
from tests.conformance.client import Asker
from tests.conformance.expectations import says
from tests.conformance.isolated_workspace import OpenWorkplace
from tests.conformance.windows import limit, statuses
from tests.contract import Contract
from tests.integration.api.server import Server, serving
from write_side import commands as c
from write_side.domain.events import Plan
from write_side.domain.refusals import PlanLimitReached

pytestmark = pytest.mark.asyncio(loop_scope="package")

STAGING = "/v1/content?environment=staging"


async def test_plans_1_entries_are_counted_per_environment(
    open_workplace: OpenWorkplace,
) -> None:
    place = await open_workplace(entries=1, staging=True)
    staging = await place.given.staging()
    await staging.content_type()
    for target in ("/v1/content", STAGING):
        new = [{"contentTypeSlug": "posts", "title": title} for title in ("One", "Two")]
        answers = [await place.ask(post(body, target)) for body in new]
        assert statuses(answers) == [200, 402]


async def test_plans_1_entries_of_all_types_statuses_and_languages_count(
    open_workplace: OpenWorkplace,
) -> None:
    place = await open_workplace(entries=3)
    await place.given.entry("archived", status="archived")
    await place.given.entry("french", language="fr-FR")
    await place.create("Ada", of="authors")
    says("limit of 3 entries")(await place.create("One too many"))


async def test_plans_1_a_limit_of_0_allows_no_entries(open_workplace: OpenWorkplace) -> None:
    place = await open_workplace(entries=0)
    says("limit of 0 entries")(await place.create("One too many"))


async def test_plans_2_a_deleted_entry_frees_its_place(open_workplace: OpenWorkplace) -> None:
    place = await open_workplace(entries=1)
    entry_id = (await place.create("One")).data["id"]
    assert (await place.create("Two")).status == 402
    await place.given.delete(entry_id)
    assert statuses([await place.create("Two"), await place.create("Three")]) == [200, 402]


async def test_plans_3_content_types_are_limited_until_one_is_removed(
    open_workplace: OpenWorkplace,
) -> None:
    place = await open_workplace(content_types=2)
    with pytest.raises(PlanLimitReached):
        await place.given.content_type(slug="third")
    await place.given.does(c.RemoveContentType, scope=place.given.scope, slug="posts")
    await place.given.content_type(slug="third")
    shown = await place.read("/v1/content-types")
    assert [one["slug"] for one in shown] == ["authors", "third"]


async def test_plans_4_entries_are_unlimited_if_not_set(open_workplace: OpenWorkplace) -> None:
    place = await open_workplace(content_types=2)
    answers = [await place.create(f"Entry {n}") for n in range(12)]
    assert set(statuses(answers)) == {200}


async def test_plans_4_content_types_are_unlimited_if_not_set(
    open_workplace: OpenWorkplace,
) -> None:
    place = await open_workplace(entries=1)
    for n in range(8):
        await place.given.content_type(slug=f"type-{n}")
    assert len(await place.read("/v1/content-types")) == 10


async def test_plans_5_the_limit_is_600_requests_a_minute_if_not_set(
    live: Server, contract: Contract, open_workplace: OpenWorkplace
) -> None:
    unset, own = await open_workplace(), await open_workplace(requests_per_minute=7)
    limits = {"key_rate_limit": 600, "ip_rate_limit": 0}
    async with serving(live.url, live.repository, projector=False, **limits) as server:
        asker = Asker(server.session, contract)
        for place, expected in ((unset, 600), (own, 7)):
            assert limit(await asker.ask(get("/v1/content", key=place.key))) == expected


async def test_plans_6_staging_is_not_included_if_not_set(open_workplace: OpenWorkplace) -> None:
    place = await open_workplace(entries=1)
    refused = await place.get(STAGING)
    assert refused.status == 402
    says("staging environment is not included in your team's plan")(refused)


async def test_plans_7_a_refusal_removes_nothing(open_workplace: OpenWorkplace) -> None:
    place = await open_workplace()
    for title in ("One", "Two", "Three"):
        await place.create(title)
    await place.given.does(c.ChangePlan, workspace=place.slug, plan=Plan(entries=1))
    assert (await place.create("Four")).status == 402
    assert [shown["slug"] for shown in await place.read("/v1/content")] == ["three", "two", "one"]


async def test_plans_7_a_smaller_plan_hides_staging_and_keeps_it(
    open_workplace: OpenWorkplace,
) -> None:
    place = await open_workplace(staging=True)
    staging = await place.given.staging()
    await staging.content_type()
    await staging.entry("kept")
    for plan, status in ((Plan(), 402), (Plan(staging=True), 200)):
        await place.given.does(c.ChangePlan, workspace=place.slug, plan=plan)
        await place.until(STAGING, status)
    assert [shown["slug"] for shown in await place.read(STAGING)] == ["kept"]
