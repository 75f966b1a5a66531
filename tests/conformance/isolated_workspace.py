"""A workspace for a single row whose requests would disturb other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace

from tests.conformance import cases
from tests.conformance.cases import Request
from tests.conformance.client import CheckedClient
from tests.conformance.magazine import types
from tests.integration.api.server import Answer, Server
from tests.integration.live_projector import SECONDS, until
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope


class IsolatedWorkspace:
    """The workspace of a single row. ``builder`` executes commands that REST lacks: publish,
    archive, revise, delete."""

    def __init__(self, live: Server, client: CheckedClient, slug: str) -> None:
        self._live = live
        self._client = client
        self.slug = slug
        self.key = f"secret-of-{slug}"
        self.builder = ContentBuilder(live.repository, Scope(slug, "production"))

    async def open(self, permissions: tuple[str, ...], **plan: Any) -> None:
        await self.builder.workspace(**plan)
        await self._live.key(self.key, self.slug, permissions)
        await types(self.builder)
        await self.wait_until_projected()

    async def open_staging(self) -> None:
        """Creates the staging environment with the magazine's content types. The plan must include
        staging."""
        staging = await self.builder.staging()
        await types(staging, media=())
        await self.wait_until_projected()

    async def send(self, request: Request) -> Answer:
        """Sends the request with this workspace's key instead of its own."""
        return await self._client.send(replace(request, key=self.key))

    async def get(self, target: str, **more: Any) -> Answer:
        return await self.send(cases.get(target, **more))

    async def create(self, title: str, **properties: Any) -> Answer:
        return await self.send(cases.create(title, **properties))

    async def read(self, target: str) -> Any:
        """Waits until everything written so far can be read, then returns the data."""
        await self.wait_until_projected()
        return (await self.get(target)).data

    async def wait_until_projected(self) -> None:
        """Waits until the read model has everything in the log."""
        service = self._live.service
        head = await service.repository.recorder.head()
        assert await service.checkpoint.wait(head, SECONDS)

    async def until(self, target: str, status: int) -> None:
        """Waits until a change of the plan or the key has reached the server."""

        async def has_status() -> bool:
            return (await self.get(target)).status == status

        await until(has_status)


class OpenWorkspace(Protocol):
    """The keyword arguments are those of the plan."""

    async def __call__(
        self, permissions: tuple[str, ...] = ..., **plan: Any
    ) -> IsolatedWorkspace: ...


NewAddress: TypeAlias = Callable[[], dict[str, str]]
"""Returns request headers with a client address that no test has used."""
