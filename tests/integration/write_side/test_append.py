"""The append: positions, claims, quotas and refusals with concurrent writers."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from tests.integration.live_projector import connected
from tests.integration.write_side import sample_commands
from tests.integration.write_side.append_locks import holding
from tests.integration.write_side.sample_commands import (
    check_log,
    check_store,
    create,
    magazine,
    plain,
)
from write_side.commands import ImportEntries
from write_side.dispatch import CommandResult, execute
from write_side.domain.events import Plan
from write_side.domain.identity import new_id
from write_side.domain.refusals import EntryIdTaken, PlanLimitReached, Refused, SlugTaken
from write_side.repository import Repository
from write_side.store.append import Append, Appended, EntryClaim, Use
from write_side.store.conflicts import (
    IdConflict,
    LimitConflict,
    SlugConflict,
    StaleAppend,
)
from write_side.store.recorder import Recorder

NUL = b'"\x00"'


async def outcomes(*work: Any) -> list[Any]:
    return await asyncio.gather(*work, return_exceptions=True)


def kinds(found: list[Any]) -> Counter[str]:
    return Counter(type(outcome).__name__ for outcome in found)


# Positions


async def test_positions_are_gapless_and_in_commit_order_under_many_writers(
    repositories: list[Repository],
) -> None:
    recorders = [repository.recorder for repository in repositories]
    done = asyncio.Event()
    reading = asyncio.create_task(_read_prefixes(recorders[0], done))
    numbers = itertools.count()
    answered = await asyncio.gather(
        *(_write(recorder, numbers, seed) for seed in range(8) for recorder in recorders)
    )
    done.set()
    assert await reading > 1
    positions = [position for own in answered for position in own]
    assert sorted(positions) == list(range(1, await check_log(recorders[0]) + 1))


async def _write(recorder: Recorder, numbers: itertools.count[int], seed: int) -> list[int]:
    """Some appends succeed, each after the position that its writer was answered before, and some
    are refused."""
    choice = random.Random(seed)
    own: list[int] = []
    for _ in range(20):
        number = next(numbers)
        n = choice.choice((1, 1, 1, 3, 60))
        appended = await recorder.append(plain(f"test/{number}", n=n))
        assert appended.position > max(own, default=0)
        own += range(appended.position, appended.last + 1)
        if choice.random() < 0.3:
            with pytest.raises(StaleAppend):
                await recorder.append(plain(f"test/{number}"))
        if choice.random() < 0.1:
            with pytest.raises(asyncpg.CharacterNotInRepertoireError):
                await recorder.append(plain(f"test/bad-{number}", state=NUL))
    return own


async def _read_prefixes(recorder: Recorder, done: asyncio.Event) -> int:
    """Reads the log repeatedly: it always begins at 1 without a gap, and never shrinks."""
    reads, head = 0, 0
    while not done.is_set():
        rows = await recorder.log(0, 100_000)
        assert [row["notification_id"] for row in rows] == list(range(1, len(rows) + 1))
        assert len(rows) >= head
        reads, head = reads + 1, len(rows)
    return reads


async def test_an_invalid_command_of_a_call_fails_alone(
    recorder: Recorder, database_url: str
) -> None:
    async with holding(database_url) as hold:
        first = asyncio.create_task(recorder.append(plain("test/first")))
        await hold.until_blocked()
        rest = asyncio.gather(
            *(
                recorder.append(plain(f"test/{n}", state=NUL if n == 3 else b"{}"))
                for n in range(8)
            ),
            return_exceptions=True,
        )
        await hold.release()
        await first
        found = await rest
    assert isinstance(found.pop(3), asyncpg.CharacterNotInRepertoireError)
    positions = [outcome.position for outcome in found if isinstance(outcome, Appended)]
    assert sorted(positions) == list(range(2, 9))
    assert await check_log(recorder) == 8


# Slugs and plan limits


@pytest.mark.parametrize("processes", [1, 3])
async def test_forty_creates_of_one_slug_create_one_entry(
    repositories: list[Repository], processes: int
) -> None:
    await magazine(repositories[0])
    head = await repositories[0].recorder.head()
    found = await outcomes(
        *(execute(create("same"), repositories[n % processes]) for n in range(40))
    )
    assert kinds(found) == {"CommandResult": 1, "SlugTaken": 39}
    assert await check_store(repositories[0]) == head + 1


@pytest.mark.parametrize("processes", [1, 3])
async def test_twenty_creates_against_a_limit_of_three_create_exactly_three(
    repositories: list[Repository], processes: int
) -> None:
    await magazine(repositories[0], Plan(entries=3))
    head = await repositories[0].recorder.head()
    found = await outcomes(
        *(execute(create(f"post-{n}"), repositories[n % processes]) for n in range(20))
    )
    assert kinds(found) == {"CommandResult": 3, "PlanLimitReached": 17}
    assert all(error.limit == 3 for error in found if isinstance(error, PlanLimitReached))
    assert await check_store(repositories[0]) == head + 3


async def test_content_types_count_against_their_own_limit(repository: Repository) -> None:
    await sample_commands.workspace(repository, Plan(content_types=2))
    found = await outcomes(
        *(sample_commands.content_type(repository, f"type-{n}") for n in range(6))
    )
    assert kinds(found) == {"NoneType": 2, "PlanLimitReached": 4}
    await check_store(repository)


async def test_entry_id_remains_taken_after_its_entry_is_deleted(repository: Repository) -> None:
    await magazine(repository)
    entry_id = await sample_commands.entry(repository, "post")
    with pytest.raises(EntryIdTaken):
        await execute(create("other", entry_id=entry_id), repository)
    await execute(sample_commands.delete(entry_id), repository)
    with pytest.raises(EntryIdTaken):
        await execute(create("other", entry_id=entry_id), repository)
    await check_store(repository)


async def test_many_creates_with_one_entry_id_create_one_entry(
    repositories: list[Repository],
) -> None:
    await magazine(repositories[0])
    entry_id = new_id()
    found = await outcomes(
        *(execute(create(f"post-{n}", entry_id=entry_id), repositories[n % 3]) for n in range(12))
    )
    assert kinds(found) == {"CommandResult": 1, "EntryIdTaken": 11}
    await check_store(repositories[0])


async def test_delete_frees_slug_and_quota(repository: Repository) -> None:
    await magazine(repository, Plan(entries=1))
    for _ in range(3):
        entry_id = await sample_commands.entry(repository, "post")
        with pytest.raises(SlugTaken):
            await execute(create("post"), repository)
        with pytest.raises(PlanLimitReached):
            await execute(create("other"), repository)
        await execute(sample_commands.delete(entry_id), repository)
    await check_store(repository)


async def test_rename_frees_the_old_slug_and_takes_the_new(repository: Repository) -> None:
    await magazine(repository)
    first = await sample_commands.entry(repository, "old")
    await execute(sample_commands.rename(first, "new"), repository)
    second = await sample_commands.entry(repository, "old")
    with pytest.raises(SlugTaken):
        await execute(sample_commands.rename(second, "new"), repository)
    await execute(sample_commands.delete(first), repository)
    await execute(sample_commands.rename(second, "new"), repository)
    await check_store(repository)


async def test_one_of_two_renames_to_a_slug_succeeds(repositories: list[Repository]) -> None:
    await magazine(repositories[0])
    ids = [await sample_commands.entry(repositories[0], f"post-{n}") for n in range(6)]
    found = await outcomes(
        *(
            execute(sample_commands.rename(id_, "best"), repositories[n % 3])
            for n, id_ in enumerate(ids)
        )
    )
    assert kinds(found) == {"CommandResult": 1, "SlugTaken": 5}
    await check_store(repositories[0])


async def test_two_simultaneous_equal_renames_do_not_conflict(
    repositories: list[Repository],
) -> None:
    await magazine(repositories[0])
    entry_id = await sample_commands.entry(repositories[0], "old")
    for n in range(5):
        await asyncio.gather(
            *(
                execute(sample_commands.rename(entry_id, f"new-{n}"), repository)
                for repository in repositories
            )
        )
    assert await check_store(repositories[0]) == 3 + 5


# Refusals within a call


def _claiming(slug: str, *, stream: str | None = None) -> Append:
    """A create as the store receives it, in the workspace's first content type."""
    entry_id = new_id()
    claim = EntryClaim(entry_id, sample_commands.SCOPE, str(_TYPE_ID), "en-US", slug)
    return Append(
        events=plain(stream or f"entry/{entry_id}").events,
        claims=[claim],
        uses=[Use(sample_commands.SCOPE, "entries", 1)],
    )


_TYPE_ID = "018f0000-0000-7000-8000-0000000000aa"


async def test_refusals_in_a_call_do_not_affect_others_and_undo_everything(
    recorder: Recorder, repository: Repository, database_url: str
) -> None:
    await sample_commands.workspace(repository, Plan(entries=4))
    await recorder.append(_claiming("taken"))
    await recorder.append(plain("entry/stale"))
    stale, taken = _claiming("a-stale", stream="entry/stale"), _claiming("taken")
    fitting = [_claiming(slug) for slug in ("b", "c")]
    over = _claiming("d-over")
    async with holding(database_url) as hold:
        blocking = asyncio.create_task(recorder.append(_claiming("first")))
        await hold.until_blocked()
        batch = [stale, fitting[0], taken, fitting[1], over]
        rest = asyncio.gather(*map(recorder.append, batch), return_exceptions=True)
        await hold.release()
        await blocking
        found = await rest
    assert kinds(found) == {
        "StaleAppend": 1, "SlugConflict": 1, "Appended": 2, "LimitConflict": 1
    }  # fmt: skip
    assert await _transactions(recorder, fitting) == 1
    assert (await recorder.fetch(sample_commands.ENTRIES_USED))[0]["used"] == 4
    for refused in (stale, taken, over):
        assert await recorder.appended(refused.command_key) is None
    await check_log(recorder)
    # A slug that was refused for lack of room can be claimed once there is room.
    async with connected(database_url) as owner:
        await owner.execute("UPDATE write_side.usage SET bound = NULL")
    again = Append(events=plain("entry/again").events, claims=stale.claims, uses=stale.uses)
    await recorder.append(again)
    appended = await recorder.append(over)
    assert not appended.replayed
    assert await check_log(recorder) == 8


async def _transactions(recorder: Recorder, appends: list[Append]) -> int:
    """The number of transactions that appended them."""
    streams = [append.events[0].originator_id for append in appends]
    statement = """
    SELECT count(DISTINCT xmin::text) FROM write_side.event WHERE originator_id = ANY ($1)"""
    return int((await recorder.fetch(statement, streams))[0]["count"])


async def test_a_refused_single_append_undoes_everything(
    recorder: Recorder, repository: Repository
) -> None:
    await sample_commands.workspace(repository, Plan(entries=1))
    first = await recorder.append(_claiming("post"))
    for refused, conflict in (
        (_claiming("post"), SlugConflict),
        (_claiming("other"), LimitConflict),
        (replace(_claiming("other", stream="workspace/acme"), uses=()), StaleAppend),
    ):
        with pytest.raises(conflict):
            await recorder.append(refused)
        assert await recorder.appended(refused.command_key) is None
    rows = await recorder.fetch("SELECT FROM write_side.entry_claim")
    assert len(rows) == 1
    assert await recorder.head() == first.last


async def test_a_quota_without_a_row_allows_nothing(recorder: Recorder) -> None:
    lone = recorder.append(_claiming("alone"))
    many = [recorder.append(_claiming(f"post-{n}")) for n in range(5)]
    assert kinds(await outcomes(lone, *many)) == {"LimitConflict": 6}
    assert await recorder.head() == 0


async def test_conflict_names_the_first_claim_that_failed(
    recorder: Recorder, repository: Repository
) -> None:
    await sample_commands.workspace(repository)
    known = _claiming("taken")
    await recorder.append(known)
    parts = [_claiming(slug) for slug in ("a", "b", "taken", "taken-too")]
    many = Append(
        events=[event for part in parts for event in part.events],
        claims=[claim for part in parts for claim in part.claims],
    )
    with pytest.raises(SlugConflict) as slug:
        await recorder.append(many)
    assert slug.value.claim == 2
    with pytest.raises(IdConflict) as same_id:
        await recorder.append(Append(events=plain("test/x").events, claims=known.claims))
    assert same_id.value.claim == 0


# Imports


async def test_import_of_two_thousand_is_appended_as_one(repository: Repository) -> None:
    await magazine(repository)
    head = await repository.recorder.head()
    rows = [create(f"row-{n}") for n in range(2000)]
    done = await execute(sample_commands.import_of(rows), repository)
    assert done.position == head + 2001
    again = await execute(sample_commands.import_of(rows), repository)
    assert (again.replayed, again.position) == (True, done.position)
    assert len(again.events) == 2001
    assert await check_store(repository) == head + 2001


@pytest.mark.parametrize(
    ("plan", "slug", "refusal"),
    [(Plan(), "taken", SlugTaken), (Plan(entries=2000), "free", PlanLimitReached)],
)
async def test_an_import_with_one_refused_row_leaves_nothing_behind(
    repository: Repository, plan: Plan, slug: str, refusal: type[Refused]
) -> None:
    await magazine(repository, plan)
    await sample_commands.entry(repository, "taken")
    head = await repository.recorder.head()
    rows = [create(slug if n == 1234 else f"row-{n}") for n in range(2000)]
    with pytest.raises(refusal):
        await execute(sample_commands.import_of(rows), repository)
    assert await check_store(repository) == head


async def test_one_of_several_imports_of_the_same_rows_succeeds(
    repositories: list[Repository],
) -> None:
    await magazine(repositories[0])
    slugs = [f"row-{n}" for n in range(300)]

    def importing(n: int) -> ImportEntries:
        order = slugs if n % 2 else slugs[::-1]
        return sample_commands.import_of([create(slug) for slug in order], f"i{n}")

    found: list[CommandResult | BaseException] = await outcomes(
        *(execute(importing(n), repositories[n % 3]) for n in range(6))
    )
    assert kinds(found) == {"CommandResult": 1, "SlugTaken": 5}
    await check_store(repositories[0])


async def test_a_conflict_is_not_a_connection_fault(recorder: Recorder) -> None:
    await recorder.append(plain("test/a"))
    before = recorder._appender._connection
    for _ in range(3):
        with pytest.raises(StaleAppend):
            await recorder.append(plain("test/a"))
    assert recorder._appender._connection is before
