"""Two appends that lock the same rows in opposite orders never wait for each other."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.integration.write_side import sample_commands
from tests.integration.write_side.append_locks import connected, deadlocks, holding
from tests.integration.write_side.sample_commands import (
    check_store,
    create,
    magazine,
    repository_on,
)
from write_side.dispatch import CommandResult, execute
from write_side.domain.identity import Scope, new_id, slug_hash
from write_side.postgres.connection import Connection
from write_side.store.append import Append, EntryClaim, Use, parameters
from write_side.store.appender import _APPEND
from write_side.store.recorder import open_recorder

SLUGS = ("c", "b", "a")
_TYPE_ID = "018f0000-0000-7000-8000-0000000000aa"
_USAGE = """
INSERT INTO write_side.usage
SELECT 'w' || n, 'production', 'entries' FROM generate_series(0, 9) AS n"""
_CLAIM = """
INSERT INTO write_side.entry_claim
SELECT gen_random_uuid(), workspace, environment, content_type_id, language, $1
FROM write_side.entry_claim LIMIT 1 ON CONFLICT DO NOTHING"""


def _append(n: int, **same: Any) -> Append:
    """A create with a key, slug and workspace of its own, except for those given."""
    entry_id, scope = new_id(), Scope(same.get("workspace", f"w{n}"), "production")
    slug = same.get("slug", entry_id)
    return Append(
        events=sample_commands.plain(f"entry/{entry_id}").events,
        command_key=same.get("command_key", entry_id),
        claims=[EntryClaim(entry_id, Scope("w", "production"), _TYPE_ID, "en-US", slug)],
        uses=[Use(scope, "entries", 1)],
    )


async def _send(connection: Connection, appends: Sequence[Append]) -> None:
    await connection.fetch(_APPEND, *parameters(appends))


@pytest.mark.parametrize(
    ("same", "values", "hold"),
    [
        (
            "command_key",
            ("k0", "k1", "k2"),
            "INSERT INTO write_side.command VALUES ('k1', '', 's', 1, 1)",
        ),
        (
            "slug",
            SLUGS,
            """
            INSERT INTO write_side.entry_claim VALUES (
                gen_random_uuid(), 'w', 'production', '018f0000-0000-7000-8000-0000000000aa',
                'en-US', sha256('b'))""",
        ),
        (
            "workspace",
            ("w0", "w1", "w2"),
            "SELECT FROM write_side.usage WHERE workspace = 'w1' FOR UPDATE",
        ),
    ],
    ids=["command keys", "slugs", "usage"],
)
async def test_calls_in_opposite_orders_take_their_rows_in_one_order(
    database_url: str, same: str, values: Sequence[str], hold: str
) -> None:
    """A third transaction holds the row in the middle, so that each append has what it locked
    first."""
    assert sorted(SLUGS, key=slug_hash)[1] == "b"
    async with connected(database_url) as one, connected(database_url) as other:
        await one.execute(_USAGE)
        async with holding(database_url, hold) as middle:
            there = asyncio.create_task(_send(one, [_append(0, **{same: v}) for v in values]))
            await middle.until_blocked(1)
            back = asyncio.create_task(
                _send(other, [_append(0, **{same: v}) for v in values[::-1]])
            )
            await middle.until_blocked(2)
            await middle.release()
            await asyncio.gather(there, back)
    assert await deadlocks(database_url) == 0


async def test_calls_that_overlap_in_everything_never_deadlock(database_url: str) -> None:
    choice = random.Random(1)
    async with connected(database_url) as one, connected(database_url) as other:
        await one.execute(_USAGE)
        for turn in range(150):
            kinds = [
                {"command_key": f"{turn}-{n}", "slug": f"{turn}-{n}", "workspace": f"w{n}"}
                for n in range(10)
            ]
            await asyncio.gather(
                *(
                    _send(connection, [_append(0, **kind) for kind in choice.sample(kinds, 10)])
                    for connection in (one, other)
                )
            )
    assert await deadlocks(database_url) == 0


async def test_a_rename_that_waits_for_a_slug_blocks_no_create(database_url: str) -> None:
    async with open_recorder(database_url) as recorder:
        repository = repository_on(recorder)
        await magazine(repository)
        entry_id = await sample_commands.entry(repository, "old")
        async with holding(database_url, _CLAIM, slug_hash("new")) as hold:
            renaming = asyncio.create_task(
                execute(sample_commands.rename(entry_id, "new"), repository)
            )
            await hold.until_blocked()
            assert await hold.holder.execute(_CLAIM, slug_hash("old")) == "INSERT 0 0"
            await hold.release()
            await renaming
        await check_store(repository)
    assert await deadlocks(database_url) == 0


# Deadlocks


@pytest.mark.slow
async def test_renames_never_deadlock_with_each_other_or_with_creates(database_url: str) -> None:
    async with open_recorder(database_url) as one, open_recorder(database_url) as other:
        repositories = [repository_on(one), repository_on(other)]
        await magazine(repositories[0])
        a, b = [await sample_commands.entry(repositories[0], slug) for slug in ("a", "b")]
        found: Counter[str] = Counter()
        for turn in range(20):
            # Each requests what the other releases, or what the creates take.
            slugs = ("a", "b") if turn % 2 else ("b", "a")
            work = [
                execute(sample_commands.rename(a, slugs[0]), repositories[0]),
                execute(sample_commands.rename(b, slugs[1]), repositories[1]),
                *(execute(create(slug), repositories[1]) for slug in ("c", "a", "b", "d")),
                execute(sample_commands.rename(a, "c"), repositories[0]),
                execute(sample_commands.rename(b, "d"), repositories[1]),
            ]
            outcomes = await asyncio.gather(*work, return_exceptions=True)
            found.update(type(outcome).__name__ for outcome in outcomes)
            for outcome in outcomes[2:6]:
                if isinstance(outcome, CommandResult):
                    await execute(
                        sample_commands.delete(sample_commands.entry_id_of(outcome)),
                        repositories[0],
                    )
        assert set(found) == {"CommandResult", "SlugTaken"}
        await check_store(repositories[0])
    assert await deadlocks(database_url) == 0
