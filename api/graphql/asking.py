"""One GraphQL request while it is answered: what it may do, and what it has read and written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

import strawberry
from msgspec import Struct
from msgspec.structs import asdict, replace
from strawberry.dataloader import DataLoader

from api.context import Call, Service
from api.graphql.once import Once
from api.graphql.spending import Spending
from api.graphql.types import ContentType, shown_type
from api.rest import point_in_time
from api.rest.point_in_time import PastEntry
from api.rest.request_checks import check_permission, resolve_environment, wait_for_position
from read_side import content_types, entries
from read_side.entries import EntryRow
from read_side.refusals import EntryNotFound
from write_side import history
from write_side.domain.history import Change
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownEntry
from write_side.repository import Repository

VIEW = "content.view"
EDIT = "content.edit"


class Then(Struct, frozen=True):
    """A slug at a time."""

    type_slug: str
    slug: str
    language: str
    locale: str
    at: datetime


class Asking:
    """Whatever is looked up goes through a loader: what a level of the answer needs is read by one
    statement, however many objects ask for it."""

    def __init__(self, call: Call, once: Once) -> None:
        self.call = call
        self.spending = Spending()
        self.once = once
        self.types: DataLoader[str, ContentType | None] = DataLoader(self._load_types)
        self.entries: DataLoader[tuple[str, str], EntryRow | None] = DataLoader(self._load_entries)
        """By id and locale."""
        self.changes: DataLoader[history.Asked, tuple[Change, ...]] = DataLoader(self._load_changes)
        self.past: DataLoader[Then, PastEntry | None] = DataLoader(self._load_past)
        self.written = 0
        """The position that this request has written up to."""
        self._patience = call.service.settings.read_your_writes
        self._waited: asyncio.Task[None] | None = None

    @property
    def service(self) -> Service:
        return self.call.service

    @property
    def repository(self) -> Repository:
        return self.call.service.repository

    @property
    def max_body_bytes(self) -> int:
        return self.service.settings.max_body_bytes

    async def viewing(self) -> Scope:
        """Where to read, once it holds what was asked for to be read: what ``X-Content-Position``
        names, or what this very request has written.

        Raises Forbidden, BadRequest, NotVisibleYet and the refusals of an environment.
        """
        call = replace(self.call, permission=VIEW)
        scope = await _placed(call)
        if self.written:
            await self.visible()
        elif self._waited is None:
            self._waited = asyncio.create_task(wait_for_position(call))
        if self._waited is not None:
            await asyncio.shield(self._waited)
        return scope

    async def may_view(self) -> None:
        """Raises Forbidden."""
        await check_permission(replace(self.call, permission=VIEW))

    async def editing(self) -> Scope:
        """Where to write. Raises Forbidden and the refusals of an environment."""
        return await _placed(replace(self.call, permission=EDIT))

    def wrote(self, position: int) -> None:
        """What was read before is not what there is now."""
        self.written = max(self.written, position)
        self.entries.clear_all()
        self.changes.clear_all()

    async def visible(self) -> bool:
        """Whether what was written can be read; waits for it, in vain no more than once."""
        seen = await self.service.checkpoint.wait(self.written, self._patience)
        if not seen:
            self._patience = 0
        return seen

    async def _load_types(self, ids: list[str]) -> Sequence[ContentType | None]:
        scope = await self.viewing()
        pool = self.service.read_model
        rows = await content_types.by_ids(pool, scope.workspace, scope.environment, ids)
        found = {type_id: shown_type(row) for type_id, row in rows.items()}
        return [found.get(type_id) for type_id in ids]

    async def _load_entries(self, keys: list[tuple[str, str]]) -> Sequence[EntryRow | None]:
        scope = await self.viewing()
        found: dict[tuple[str, str], EntryRow] = {}
        for locale in {locale for _, locale in keys}:
            rows = await entries.entries_by_id(
                self.service.read_model,
                scope.workspace,
                scope.environment,
                ids=[entry_id for entry_id, wanted in keys if wanted == locale],
                locale=locale,
            )
            self.spending.on_bytes(sum(len(row.title) + len(bytes(row.fields)) for row in rows))
            found |= {(row.id, locale): row for row in rows}
        return [found.get(key) for key in keys]

    async def _load_changes(self, asked: list[history.Asked]) -> Sequence[tuple[Change, ...]]:
        scope = await self.viewing()
        return await history.histories(self.repository, scope, asked, self.spending)

    async def _load_past(self, asked: list[Then]) -> Sequence[PastEntry | Exception | None]:
        # One after another: together they would be begun before any has been counted.
        return [await self._as_it_was(one) for one in asked]

    async def _as_it_was(self, asked: Then) -> PastEntry | Exception | None:
        try:
            return await point_in_time.entry_of_slug(
                self.service, await self.viewing(), self.spending, **asdict(asked)
            )
        except (EntryNotFound, UnknownEntry):  # nothing ever had the slug, or nothing had it then
            return None
        except Exception as error:
            return error


async def _placed(call: Call) -> Scope:
    await check_permission(call)
    await resolve_environment(call)
    return call.scope


Info: TypeAlias = strawberry.Info[Asking, None]
