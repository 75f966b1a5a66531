"""Commands that fill a log, and entries as the read model has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tests.integration.live_projector import connected
from write_side import commands as c
from write_side.dispatch import execute
from write_side.domain.definition import Field, Stage
from write_side.domain.events import ContentTypeCreated, EntryCreated, Plan, Translation
from write_side.domain.identity import Actor, Scope, new_id
from write_side.postgres.connection import Connection
from write_side.repository import Repository

ACTOR = Actor("operator", "test")
SCOPE = Scope("acme", "production")
BODY = Field("body", "Body", "text")
LEAD = Field("lead", "Lead", "text")
STAGES = (Stage("writing", "Writing"), Stage("review", "Review"))
_ENTRY = "SELECT * FROM read_model.entry WHERE id = $1::uuid"


def raws(**values: Any) -> dict[str, Raw]:
    return {slug: Raw(msgspec.json.encode(value)) for slug, value in values.items()}


class ContentBuilder:
    """Carries out commands in one workspace and one environment."""

    def __init__(self, repository: Repository, scope: Scope = SCOPE) -> None:
        self.repository = repository
        self.scope = scope

    async def workspace(self, **plan: Any) -> None:
        await self.execute(
            c.CreateWorkspace, workspace=self.scope.workspace, name="Acme", plan=Plan(**plan)
        )

    async def change_plan(self, **plan: Any) -> None:
        await self.execute(c.ChangePlan, workspace=self.scope.workspace, plan=Plan(**plan))

    async def magazine(self) -> str:
        """A workspace with one content type, whose id is returned."""
        await self.workspace(staging=True)
        return await self.content_type()

    async def staging(self) -> ContentBuilder:
        """Sets up the staging environment of the workspace."""
        staging = ContentBuilder(self.repository, replace(self.scope, environment="staging"))
        await staging.execute(c.AddEnvironment, scope=staging.scope)
        return staging

    async def content_type(self, *fields: Field, slug: str = "posts", **more: Any) -> str:
        event = await self.execute(
            c.CreateContentType,
            scope=self.scope,
            slug=slug,
            name=slug.title(),
            fields=fields or (BODY,),
            **more,
        )
        assert isinstance(event, ContentTypeCreated)
        return event.content_type_id

    async def revise_type(self, *fields: Field, slug: str = "posts", **more: Any) -> None:
        await self.execute(
            c.ReviseContentType, scope=self.scope, slug=slug, name="Posts", fields=fields, **more
        )

    async def entry(self, slug: str, *, type_slug: str = "posts", **more: Any) -> str:
        event = await self.execute(
            c.CreateEntry,
            scope=self.scope,
            content_type_slug=type_slug,
            slug=slug,
            **{"title": slug.title(), **more},
        )
        assert isinstance(event, EntryCreated)
        return event.entry_id

    async def imports(
        self, entries: Iterable[Mapping[str, Any]], *, type_slug: str = "posts", **more: Any
    ) -> None:
        """Imports the entries in one append."""
        creates = [
            c.CreateEntry(actor=ACTOR, scope=self.scope, content_type_slug=type_slug, **entry)
            for entry in entries
        ]
        await self.execute(
            c.ImportEntries,
            scope=self.scope,
            content_type_slug=type_slug,
            entries=creates,
            **{"import_id": new_id(), "file_name": "f.csv", **more},
        )

    async def update(self, entry_id: str, **changes: Any) -> None:
        await self.execute(c.UpdateEntry, scope=self.scope, entry_id=entry_id, **changes)

    async def translate(self, entry_id: str, locale: str, **texts: Any) -> None:
        await self.update(entry_id, translations={locale: Translation(**texts)})

    async def delete(self, entry_id: str) -> None:
        await self.execute(c.DeleteEntry, scope=self.scope, entry_id=entry_id)

    async def key(self, name: str) -> None:
        await self.execute(
            c.IssueKey,
            workspace=self.scope.workspace,
            name=name,
            permissions=("content.view",),
            secret_hash=f"hash of {name}",
        )

    async def revoke(self, name: str) -> None:
        await self.execute(c.RevokeKey, workspace=self.scope.workspace, name=name)

    async def execute(self, command: type[c.Command], **properties: Any) -> Any:
        """Executes the command and returns its first event."""
        executed = await execute(command(actor=ACTOR, **properties), self.repository)
        return executed.events[0].event if executed.events else None


async def row_of(connection: Connection, entry_id: str) -> dict[str, Any] | None:
    row = await connection.fetchrow(_ENTRY, entry_id)
    return None if row is None else dict(row)


async def fields_of(model_url: str, entry_id: str) -> Any:
    """The fields of an entry as the read model stores them."""
    async with connected(model_url) as connection:
        row = await row_of(connection, entry_id)
    assert row is not None
    return msgspec.json.decode(row["fields"])


async def rows(model_url: str, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    async with connected(model_url, search_path="read_model") as connection:
        return [tuple(row) for row in await connection.fetch(sql, *parameters)]
