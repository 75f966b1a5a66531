"""Verify finds and names every difference from the log, and repairs it only on request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from projector.rebuild import operations as module
from projector.rebuild.operations import VerificationResult
from projector.rebuild.progress import Operation
from read_side.schema import LIVE
from tests.databases import owner_of
from tests.integration.live_projector import (
    caught_up,
    connected,
    dump,
    head_of,
    project_all,
    projecting,
)
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import build_settings, schemas, silent
from tests.integration.projector.sample_log import SCOPE, ContentBuilder
from tests.integration.write_side.sample_commands import check_store
from write_side import commands as c
from write_side.domain.refusals import PlanLimitReached, SlugTaken
from write_side.repository import Repository
from write_side.store import log_reader
from write_side.verification.claim_check import Difference, claim_differences, repair_claims


async def verify(url: str) -> VerificationResult:
    return await module.verify(build_settings(url, workers=1), silent)


async def repair(url: str, wrong: list[Difference]) -> int:
    async with connected(owner_of(url)) as owner:
        return await repair_claims(owner, wrong)


async def execute(url: str, sql: str, *parameters: Any) -> None:
    async with connected(url) as connection:
        await connection.execute(sql, *parameters)


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "EVENTS_IN_A_RANGE", 50)


@pytest.mark.parametrize("seed", [5, pytest.param(6, marks=pytest.mark.slow)])
async def test_log_claims_and_read_model_agree_after_any_commands(
    seed: int, repository: Repository, database_url: str
) -> None:
    await RandomCommands(repository, seed).execute(150)
    await project_all(database_url, database_url)
    before = await dump(database_url)
    seen = await verify(database_url)
    assert seen == VerificationResult(await head_of(database_url), [], None, [])
    assert await dump(database_url) == before
    assert await schemas(database_url) == [LIVE]


@pytest.mark.slow
async def test_log_claims_and_read_model_agree_during_writes(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    going_on = True

    async def write() -> None:
        number = 0
        while going_on:
            entry_id = await builder.entry(f"entry-{number}")
            await builder.update(entry_id, slug=f"renamed-{number}")
            number += 1

    async with projecting(database_url):
        writing = asyncio.create_task(write())
        for _ in range(3):
            seen = await verify(database_url)
            assert (seen.read_model, seen.claims) == ([], [])
        going_on = False
        await writing
        await caught_up(database_url)


WRONG = {
    "a claim that is missing": ("DELETE FROM write_side.entry_claim", "entry_claim", "missing"),
    "a claim to another slug": (
        "UPDATE write_side.entry_claim SET slug_hash = 'x'", "entry_claim", "different"),
    "a claim to nothing": (
        "INSERT INTO write_side.entry_claim SELECT gen_random_uuid(), workspace, environment, "
        "content_type_id, language, 'x' FROM write_side.entry_claim", "entry_claim", "unknown"),
    "a content type's version": (
        "UPDATE write_side.content_type_claim SET version = 7", "content_type_claim", "different"),
    "a content type that is missing": (
        "DELETE FROM write_side.content_type_claim", "content_type_claim", "missing"),
    "a key that is alive": (
        "UPDATE write_side.key_claim SET revoked = false WHERE revoked", "key_claim", "different"),
    "a key that is missing": (
        "DELETE FROM write_side.key_claim WHERE NOT revoked", "key_claim", "missing"),
    "a key's expiry": (
        "UPDATE write_side.key_claim SET expires_at = now()", "key_claim", "different"),
    "usage": (
        "UPDATE write_side.usage SET used = used + 3 WHERE quota = 'entries'", "usage",
        "different"),
    "a limit": (
        "UPDATE write_side.usage SET bound = 9 WHERE quota = 'content_types'", "usage",
        "different"),
}  # fmt: skip


async def test_wrong_claims_are_found_and_repaired(
    builder: ContentBuilder, repository: Repository, database_url: str
) -> None:
    await builder.workspace(entries=10)
    await builder.content_type()
    await builder.entry("one")
    await builder.key("alive")
    await builder.key("revoked")
    await builder.revoke("revoked")
    await project_all(database_url, database_url)
    async with connected(database_url) as store:
        for name, (change, relation, kind) in WRONG.items():
            await store.execute(change)
            wrong = await claim_differences(store, Operation(silent))
            assert {(one.relation, one.kind) for one in wrong} == {(relation, kind)}, name
            assert await repair_claims(store, wrong) == len(wrong), name
            await check_store(repository)
        await store.execute(change)
        seen = await verify(database_url)
        assert (seen.read_model, seen.not_compared, seen.claims) == ([], None, wrong)


WRONG_PAST = {
    "a slug that is missing": ("DELETE FROM read_model.past_slug", "past_slug", "missing"),
    "a slug that was given up later": (
        "UPDATE read_model.past_slug SET until = 'infinity'", "past_slug", "different"),
    "a slug that nobody gave up": (
        "INSERT INTO read_model.past_slug SELECT workspace, environment, position + 100, "
        "content_type_id, language, slug_hash, id, since, until FROM read_model.past_slug",
        "past_slug", "unknown"),
    "a version that is missing": (
        "DELETE FROM read_model.past_version", "past_version", "missing"),
    "a version of another status": (
        "UPDATE read_model.past_version SET status = 'archived'", "past_version", "different"),
    "since when an entry has its slug": (
        "UPDATE read_model.entry SET slug_since = now()", "entry", "different"),
    "a type that is missing": ("DELETE FROM read_model.past_type", "past_type", "missing"),
    "a type that was removed later": (
        "UPDATE read_model.past_type SET until = 'infinity'", "past_type",
        "different"),
}  # fmt: skip


OF_EACH_TABLE = ("a slug that is missing", "a version of another status", "a type that is missing")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OF_EACH_TABLE else pytest.mark.slow)
        for name in WRONG_PAST
    ],
)
async def test_errors_in_past_rows_are_found(
    name: str, builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await builder.content_type(slug="gone")
    await builder.execute(c.RemoveContentType, scope=SCOPE, slug="gone")
    await builder.update(await builder.entry("one"), slug="two")
    await project_all(database_url, database_url)
    change, relation, kind = WRONG_PAST[name]
    await execute(database_url, change)
    seen = await verify(database_url)
    assert {(one.relation, one.kind) for one in seen.read_model} == {(relation, kind)}


async def test_repaired_claims_are_enforced_again(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.workspace(entries=2)
    await builder.content_type()
    await builder.entry("one")
    await project_all(database_url, database_url)
    await execute(database_url, "DELETE FROM write_side.entry_claim")
    await execute(database_url, "UPDATE write_side.usage SET used = 0")
    await repair(database_url, (await verify(database_url)).claims)
    with pytest.raises(SlugTaken):
        await builder.entry("one")
    await builder.entry("two")
    with pytest.raises(PlanLimitReached):
        await builder.entry("three")


async def test_appends_wait_while_claims_are_repaired(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    for number in range(20):
        await builder.entry(f"entry-{number}")
    await project_all(database_url, database_url)
    await execute(database_url, "UPDATE write_side.entry_claim SET slug_hash = id::text::bytea")
    wrong = (await verify(database_url)).claims
    assert len(wrong) == 20
    made = [asyncio.create_task(builder.entry(f"more-{n}")) for n in range(30)]
    await repair(database_url, wrong)
    await asyncio.gather(*made)
    await project_all(database_url, database_url)
    seen = await verify(database_url)
    assert (seen.read_model, seen.claims) == ([], [])


async def test_an_empty_read_model_does_not_agree(
    builder: ContentBuilder, database_url: str
) -> None:
    assert (await verify(database_url)).not_compared is None, "nor has the log anything"
    await builder.magazine()
    assert (await verify(database_url)).not_compared == "it is empty"


async def test_a_wrong_read_model_is_reported(builder: ContentBuilder, database_url: str) -> None:
    await builder.magazine()
    entry_id = await builder.entry("one")
    await project_all(database_url, database_url)
    await execute(database_url, 'UPDATE read_model.entry SET stored = \'{"body": "Tampered"}\'')
    [one] = (await verify(database_url)).read_model
    assert (one.relation, one.kind) == ("entry", "different")
    assert entry_id in one.key
