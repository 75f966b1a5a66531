"""A workspace for a single row, for requests that would disturb the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace

from tests.conformance import cases
from tests.conformance.cases import Request
from tests.conformance.client import Asker
from tests.conformance.magazine import types
from tests.integration.api.server import Answer, Server
from tests.integration.live_projector import SECONDS, until
from tests.integration.projector.sample_log import Given
from write_side.domain.identity import Scope


class Workplace:
    """``given`` carries out what has no REST door: publish, archive, revise, delete."""

    def __init__(self, live: Server, asker: Asker, slug: str) -> None:
        self._live = live
        self._asker = asker
        self.slug = slug
        self.key = f"secret-of-{slug}"
        self.given = Given(live.repository, Scope(slug, "production"))

    async def open(self, permissions: tuple[str, ...], **plan: Any) -> None:
        await self.given.workspace(**plan)
        await self._live.key(self.key, self.slug, permissions)
        await types(self.given)
        await self.settle()

    async def open_staging(self) -> None:
        """With the magazine's types; the plan must have it."""
        staging = await self.given.staging()
        await types(staging, media=())
        await self.settle()

    async def ask(self, request: Request) -> Answer:
        """With this workspace's key, whatever key the request has."""
        return await self._asker.ask(replace(request, key=self.key))

    async def get(self, target: str, **more: Any) -> Answer:
        return await self.ask(cases.get(target, **more))

    async def create(self, title: str, **properties: Any) -> Answer:
        return await self.ask(cases.create(title, **properties))

    async def read(self, target: str) -> Any:
        """The data, once everything written so far can be read."""
        await self.settle()
        return (await self.get(target)).data

    async def settle(self) -> None:
        """Wait until what is in the log by now can be read."""
        service = self._live.service
        head = await service.repository.recorder.head()
        assert await service.checkpoint.wait(head, SECONDS)

    async def until(self, target: str, status: int) -> None:
        """Wait until a change of the plan or the key has come to the server."""

        async def has_come() -> bool:
            return (await self.get(target)).status == status

        await until(has_come)


class OpenWorkplace(Protocol):
    """Keywords are those of the plan."""

    async def __call__(self, permissions: tuple[str, ...] = ..., **plan: Any) -> Workplace: ...


NewAddress: TypeAlias = Callable[[], dict[str, str]]
"""Headers of a request from an address that nobody has used."""
