"""A workspace with content types, and queries that the tests of handlers share."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.integration.write_side.sample_commands import ACTOR
from write_side import commands as c
from write_side.commands import Command
from write_side.dispatch import CommandResult, execute
from write_side.domain import events as e
from write_side.domain.definition import Field, Stage
from write_side.domain.events import Event, Plan
from write_side.domain.identity import PRODUCTION, STAGING, Scope
from write_side.domain.refusals import Refused
from write_side.repository import Repository

SCOPE = Scope("acme", PRODUCTION)
STAGE = Scope("acme", STAGING)
OTHER = Scope("rival", PRODUCTION)
AUTHORS = (Field("bio", "Bio", "text"),)
POSTS = (
    Field("body", "Body", "text", required=True),
    Field("author", "Author", "reference", to=("authors",)),
    Field("related", "Related", "reference", to=("posts",), multiple=True),
    Field("cover", "Cover", "media"),
)
STAGES = (Stage("writing", "Writing"), Stage("review", "Review"))


class HandlerContext:
    """Sends commands of one actor, and reads their events from the log."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.requests = 0

    async def execute(self, kind: type[Command], **properties: Any) -> CommandResult:
        self.requests += 1
        command = kind(**{"actor": ACTOR, "request_id": f"r{self.requests}", **properties})
        return await execute(command, self.repository)

    async def head(self) -> int:
        return await self.repository.recorder.head()

    async def used(self, scope: Scope, quota: str) -> int:
        rows = await self.repository.recorder.fetch(
            """SELECT used FROM write_side.usage
            WHERE (workspace, environment, quota) = ($1, $2, $3)""",
            scope.workspace,
            scope.environment,
            quota,
        )
        return int(rows[0]["used"])

    async def stream(self, stream: str) -> list[Event]:
        rows = await self.repository.recorder.select_events(stream)
        return [self.repository.mapper.event_of(row) for row in rows]

    async def workspace(self, slug: str = "acme", plan: Plan = Plan()) -> None:  # noqa: B008
        await self.execute(c.CreateWorkspace, workspace=slug, name=slug.title(), plan=plan)

    async def content_type(
        self, slug: str, fields: Sequence[Field] = (), scope: Scope = SCOPE, **properties: Any
    ) -> CommandResult:
        made = {"name": slug.title(), "fields": tuple(fields), **properties}
        return await self.execute(c.CreateContentType, scope=scope, slug=slug, **made)

    async def entry(
        self, slug: str, kind: str = "posts", scope: Scope = SCOPE, **properties: Any
    ) -> str:
        """Creates an entry and returns its id."""
        made = {"title": slug, "slug": slug, "content_type_slug": kind, **properties}
        executed = await self.execute(c.CreateEntry, scope=scope, **made)
        return entry_id(executed)

    async def update(self, entry: str, scope: Scope = SCOPE, **properties: Any) -> CommandResult:
        return await self.execute(c.UpdateEntry, scope=scope, entry_id=entry, **properties)

    @asynccontextmanager
    async def assert_refused(self, refusal: type[Refused], text: str) -> AsyncIterator[None]:
        """The command is refused with exactly this class and this text, and nothing is appended."""
        before = await self.head()
        with pytest.raises(refusal) as refused:
            yield
        assert refused.type is refusal
        assert text in str(refused.value)
        assert await self.head() == before

    @asynccontextmanager
    async def assert_appended(self, *kinds: type[Event]) -> AsyncIterator[None]:
        """Exactly these events are appended."""
        before = await self.head()
        yield
        rows = await self.repository.recorder.log(before, 100)
        decoded = [
            self.repository.mapper.decode(row["topic"], row["state"], row["at"]) for row in rows
        ]
        assert [type(event) for event in decoded] == list(kinds)


async def magazine(repository: Repository, plan: Plan = Plan()) -> HandlerContext:  # noqa: B008
    """The workspace acme with authors and posts in production."""
    context = HandlerContext(repository)
    await context.workspace(plan=plan)
    await context.content_type("authors", AUTHORS)
    await context.content_type("posts", POSTS, stages=STAGES)
    return context


def entry_id(executed: CommandResult) -> str:
    event = executed.events[0].event
    assert isinstance(event, e.EntryCreated)
    return event.entry_id


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
