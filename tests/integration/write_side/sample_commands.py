"""Commands and appends for tests of the event store, and its invariants."""

from __future__ import annotations

from collections import Counter
from typing import Any

from eventsourcing.persistence import StoredEvent

from write_side import commands
from write_side.commands import CreateContentType, CreateEntry, CreateWorkspace
from write_side.dispatch import CommandResult, execute
from write_side.domain.definition import Field
from write_side.domain.events import EntryCreated, Plan
from write_side.domain.identity import PRODUCTION, Actor, Scope, new_id
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper
from write_side.store.recorder import Recorder
from write_side.verification import claims

ACTOR = Actor("operator", "test")
SCOPE = Scope("acme", PRODUCTION)
TYPE = "posts"
ENTRIES_USED = """
SELECT used FROM write_side.usage
WHERE (workspace, environment, quota) = ('acme', 'production', 'entries')"""

UNRELEASED = """
CREATE SCHEMA write_side;
CREATE TABLE write_side.migration (number int PRIMARY KEY, name text, digest text);
INSERT INTO write_side.migration VALUES (1, 'event_store', 'abc')"""
"""What identifies an event store from before the first release."""


def repository_on(recorder: Recorder) -> Repository:
    return Repository(recorder, EventMapper())


async def workspace(repository: Repository, plan: Plan = Plan()) -> None:  # noqa: B008
    create = CreateWorkspace(actor=ACTOR, workspace=SCOPE.workspace, name="Acme", plan=plan)
    await execute(create, repository)


async def content_type(repository: Repository, slug: str = TYPE) -> None:
    await execute(
        CreateContentType(
            actor=ACTOR,
            scope=SCOPE,
            slug=slug,
            name="Posts",
            fields=(Field("body", "Body", "text"),),
        ),
        repository,
    )


async def magazine(repository: Repository, plan: Plan = Plan()) -> None:  # noqa: B008
    """A workspace with one content type."""
    await workspace(repository, plan)
    await content_type(repository)


def create(slug: str, **changes: Any) -> CreateEntry:
    properties = {
        "scope": SCOPE,
        "content_type_slug": TYPE,
        "title": slug,
        "slug": slug,
        "entry_id": new_id(),
    }
    return CreateEntry(actor=ACTOR, **{**properties, **changes})


def rename(entry_id: str, slug: str) -> commands.UpdateEntry:
    return commands.UpdateEntry(actor=ACTOR, scope=SCOPE, entry_id=entry_id, slug=slug)


def delete(entry_id: str, **changes: Any) -> commands.DeleteEntry:
    return commands.DeleteEntry(actor=ACTOR, scope=SCOPE, entry_id=entry_id, **changes)


def import_of(rows: list[CreateEntry], import_id: str = "i1") -> commands.ImportEntries:
    return commands.ImportEntries(
        actor=ACTOR,
        scope=SCOPE,
        content_type_slug=TYPE,
        import_id=import_id,
        file_name="posts.csv",
        entries=rows,
    )


async def entry(repository: Repository, slug: str) -> str:
    """Creates an entry and returns its id."""
    return entry_id_of(await execute(create(slug), repository))


def entry_id_of(executed: CommandResult) -> str:
    created = executed.events[0].event
    assert isinstance(created, EntryCreated)
    return created.entry_id


def plain(stream: str, version: int = 1, *, n: int = 1, state: bytes = b"{}") -> Append:
    """An append of n events to one stream, without claims."""
    events = [StoredEvent(stream, version + i, "test.happened.v1", state) for i in range(n)]
    return Append(events=events)


async def check_log(recorder: Recorder) -> int:
    """Positions count from 1 without a gap, and so do the versions of each stream; each command key
    that is kept has its events. Returns the head."""
    head = await recorder.head()
    rows = await recorder.log(0, head + 1000)
    assert [row["notification_id"] for row in rows] == list(range(1, head + 1))
    versions: Counter[str] = Counter()
    for row in rows:
        versions[row["originator_id"]] += 1
        assert row["originator_version"] == versions[row["originator_id"]]
    keys = await recorder.fetch("""
        SELECT sum(c.events)::bigint FROM write_side.command c
        JOIN write_side.event USING (originator_id, originator_version)""")
    assert (keys[0][0] or 0) == head
    return head


async def check_store(repository: Repository) -> int:
    """The log is complete, and the claims are those that follow from it. Returns the head."""
    head = await check_log(repository.recorder)
    rows = await repository.recorder.log(0, head)
    events = [repository.mapper.decode(row["topic"], row["state"], row["at"]) for row in rows]
    async with (
        repository.recorder.pool.acquire() as connection,
        connection.transaction(isolation="repeatable_read"),
    ):
        assert await connection.fetchval("SELECT position FROM write_side.head") == head
        stored = await claims.stored_without_entries(connection)
        stored.entry_claim = await claims.stored_entries(connection, None, None)
    expected = claims.Claims()
    expected.apply(events)
    entries = expected.entry_claim.values()
    expected.count(Counter((row.workspace, row.environment) for row in entries))
    assert stored == expected
    return head
