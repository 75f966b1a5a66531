"""The state of one GraphQL request: its permissions, what it has read and what it has written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import datetime
from itertools import count
from typing import Any, TypeAlias

import strawberry
from strawberry.dataloader import DataLoader

from api.context import Call
from api.errors import RequestInProgress
from api.graphql.cost import Budget
from api.graphql.request import GraphQLRequest
from api.rest import point_in_time
from api.rest.idempotency import HEADER, command_key, digest
from api.rest.point_in_time import PastEntry, PastSlugKey
from api.rest.request_checks import (
    check_edit,
    check_permission,
    check_read,
    resolve_environment,
    wait_for_position,
)
from read_side import content_types, entries
from read_side.entries import EntryRow
from read_side.lookups import MediaFile, media_files
from read_side.refusals import EntryNotFound
from write_side import entry_history
from write_side.domain.content_type import ContentTypeDefinition
from write_side.domain.entry_changes import Change
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownEntry
from write_side.domain.workspace import VIEW

PastKey: TypeAlias = tuple[str, str, datetime]
"""An entry's id, a locale and a time."""


class IdempotencyKeys:
    """Gives each mutation of a request its own key, so that it is executed once.

    The first mutation of a document has the same key as a POST over REST, so that a key identifies
    one request in both APIs. The others append their place in the document.
    """

    def __init__(self, call: Call, body: bytes) -> None:
        self._call = call
        self._header = call.request.headers.get(HEADER)
        self._digest = digest(body)
        self.places = count()
        self._in_flight = False

    def arguments(self, place: int, scope: Scope) -> dict[str, Any]:
        """The arguments that make a command safe to repeat.

        Raises BadRequest, RequestInProgress.
        """
        key = command_key(self._header, self._call.caller.key_id, scope)
        if key is None:
            return {}
        if self._in_flight:
            raise RequestInProgress
        return {"command_key": f"{key}/{place}" if place else key, "digest": self._digest}

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Holds the key until the response is ready. If another request holds it, the mutations of
        this one are refused."""
        if self._header is None:
            yield
            return
        request, key_id = self._call.request, self._call.caller.key_id
        environment = request.query.get("environment") or request.headers.get("X-Environment")
        name = f"graphql\n{key_id}\n{environment}\n{self._header}"
        with ExitStack() as stack:
            try:
                stack.enter_context(self._call.service.in_flight.reserve(name))
            except RequestInProgress:
                self._in_flight = True
            yield


class GraphQLContext:
    """Lookups go through loaders: one statement reads everything that a level of the response
    needs. ``size``: the bytes of the body."""

    def __init__(self, call: Call, body: GraphQLRequest, size: int, keys: IdempotencyKeys) -> None:
        self.call = call
        self.service = call.service
        self.repository = call.service.repository
        self.body = body
        self.size = size
        self.keys = keys
        self.budget = Budget()
        self.types: DataLoader[str, ContentTypeDefinition | None] = DataLoader(self._load_types)
        self.reference_fields: DataLoader[str, bool] = DataLoader(self._load_reference_fields)
        """Whether some content type has a reference field with this slug."""
        self.entries: DataLoader[tuple[str, str], EntryRow | None] = DataLoader(self._load_entries)
        """By id and locale; without those that the key may not read."""
        self.media: DataLoader[str, MediaFile | None] = DataLoader(self._load_media)
        self.changes: DataLoader[entry_history.HistoryRequest, tuple[Change, ...]] = DataLoader(
            self._load_changes
        )
        self.past: DataLoader[PastSlugKey, PastEntry | None] = DataLoader(self._load_past)
        self.past_entries: DataLoader[PastKey, PastEntry | None] = DataLoader(
            self._load_past_entries
        )
        """Without those that did not exist then or that the key may not read."""
        self.resources = AsyncExitStack()
        """Resources held until the response is ready."""
        self._lock = asyncio.Lock()
        self._has_turn = False
        self.seconds = 0.0
        """Seconds that the document took before it was executed."""
        self._reserved = 0
        self.written = 0
        """The last position that this request wrote."""
        self.ignored: list[str] = []
        """The members of ``fields`` that its mutations ignored."""
        self._timeout = self.service.settings.read_your_writes
        self._waiting: asyncio.Task[None] | None = None

    async def reserve_cost(self) -> None:
        """Takes the estimated cost from the workspace's limit. Raises CostLimitExceeded."""
        self._reserved = self.budget.cost
        await self.service.limits.reserve_cost(self.call.caller, self._reserved)

    def charge_cost(self, answered: int) -> None:
        """Charges the remaining cost; ``answered``: the bytes of the response."""
        limits, caller = self.service.limits, self.call.caller
        limits.charge_bytes(caller, answered)
        limits.charge_seconds(caller, self.seconds)
        if self._reserved:
            limits.charge_cost(caller.workspace, self.budget.cost - self._reserved)

    async def readable(self, status: str | None = None) -> Scope:
        """The scope to read, once the read model has reached ``X-Content-Position`` and the writes
        of this request. ``status``: of the entries to read; None for all that the key may read.

        Raises Forbidden, BadRequest, NotVisibleYet and the refusals of an environment.
        """
        check_read(self.call, status)
        resolve_environment(self.call)
        scope = self.call.scope
        if self.written:
            await self.visible()
        elif self._waiting is None:
            self._waiting = asyncio.create_task(wait_for_position(self.call))
        if self._waiting is not None:
            await asyncio.shield(self._waiting)
        return scope

    def check_view(self) -> None:
        """Checks that entries of every status may be read. Raises Forbidden."""
        check_permission(self.call.caller, VIEW)

    def writable(self) -> Scope:
        """The scope to write. Raises Forbidden and the refusals of an environment."""
        check_edit(self.call)
        resolve_environment(self.call)
        return self.call.scope

    def record_write(self, position: int) -> None:
        """Drops everything that was read before the write."""
        self.written = max(self.written, position)
        self.entries.clear_all()
        self.changes.clear_all()

    async def visible(self) -> bool:
        """Waits until the read model has what was written; after one timeout it does not wait
        again."""
        visible = await self.service.checkpoint.wait(self.written, self._timeout)
        if not visible:
            self._timeout = 0
        return visible

    async def _load_types(self, ids: list[str]) -> Sequence[ContentTypeDefinition | None]:
        scope = await self.readable()
        found = await content_types.by_ids(self.service.read_model, scope, ids)
        return [found.get(type_id) for type_id in ids]

    async def _load_reference_fields(self, slugs: list[str]) -> Sequence[bool]:
        scope = await self.readable()
        found = await content_types.named_fields(self.service.read_model, scope, slugs, None)
        referring = [each.slug for each in found.fields.values() if each.spec.refers_to == "entry"]
        return [slug in referring for slug in slugs]

    async def _load_entries(self, keys: list[tuple[str, str]]) -> Sequence[EntryRow | None]:
        scope = await self.readable()
        found: dict[tuple[str, str], EntryRow] = {}
        for locale in {locale for _, locale in keys}:
            rows = await entries.entries_by_id(
                self.service.read_model,
                scope,
                ids=[entry_id for entry_id, wanted in keys if wanted == locale],
                locale=locale,
                before=self._before_reading,
            )
            found |= {(row.id, locale): row for row in rows if self.call.may_read(row.status)}
        return [found.get(key) for key in keys]

    async def _load_media(self, ids: list[str]) -> Sequence[MediaFile | None]:
        scope = await self.readable()
        found = await media_files(self.service.read_model, scope.workspace, ids)
        return [found.get(media_id) for media_id in ids]

    async def _before_reading(self, size: int, has_large: bool) -> None:
        """Charges values before they are read; large ones wait for a turn. Raises BadRequest,
        Overloaded."""
        self.budget.charge_bytes(size)
        if not has_large:
            return
        async with self._lock:
            if not self._has_turn:
                turn = self.service.large_bodies.turns.turn(self.call.scope.workspace)
                await self.resources.enter_async_context(turn)
                self._has_turn = True

    async def _load_changes(
        self, requests: list[entry_history.HistoryRequest]
    ) -> Sequence[tuple[Change, ...]]:
        scope = await self.readable()
        return await entry_history.histories(self.repository, scope, requests, self.budget)

    async def _load_past(self, slugs: list[PastSlugKey]) -> Sequence[PastEntry | Exception | None]:
        # One after another, so that each is charged before the next begins.
        return [await self._entry_at(slug) for slug in slugs]

    async def _load_past_entries(self, keys: list[PastKey]) -> Sequence[PastEntry | None]:
        scope = await self.readable()
        self.budget.charge_folded(len(keys))
        found: dict[PastKey, PastEntry] = {}
        for locale, at in dict.fromkeys((locale, at) for _, locale, at in keys):
            entries_then = await point_in_time.entries_of_ids(
                self.service,
                scope,
                [entry_id for entry_id, *wanted in keys if wanted == [locale, at]],
                self.budget,
                locale=locale,
                at=at,
            )
            found |= {
                (entry_id, locale, at): past
                for entry_id, past in entries_then.items()
                if self.call.may_read(past.row.status)
            }
        return [found.get(key) for key in keys]

    async def _entry_at(self, slug: PastSlugKey) -> PastEntry | Exception | None:
        try:
            page = await point_in_time.entry_of_slug(
                self.service, await self.readable(), slug, self.budget
            )
        except (EntryNotFound, UnknownEntry):
            return None
        except Exception as error:  # a loader raises it for this key only
            return error
        [past] = page.entries
        return past if self.call.may_read(past.row.status) else None


Info: TypeAlias = strawberry.Info[GraphQLContext, None]
