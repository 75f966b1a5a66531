"""A client of server-sent events that follows the HTML standard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from tests.integration.api.server import ACME, Server

PATIENCE = 60.0


class Event(Struct, frozen=True):
    id: str
    type: str
    data: Any


class EventStream:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.comments = 0

    async def next(self) -> Event:
        """Raises EOFError at the end of the stream."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE):
            while line := await self.response.content.readline():
                text = line.decode().removesuffix("\n")
                name, _, value = text.partition(": ")
                if text == "" and fields:
                    return Event(fields["id"], fields["event"], msgspec.json.decode(fields["data"]))
                if text.startswith(":"):
                    self.comments += 1
                elif text:
                    fields[name] = value
        raise EOFError

    async def until_caught_up(self) -> list[dict[str, Any]]:
        """Reads up to the ``caught-up`` event, which names the last change, and returns the
        changes."""
        found: list[dict[str, Any]] = []
        while (event := await self.next()).type != "caught-up":
            assert (event.id, event.type) == (event.data["id"], event.data["type"])
            found.append(event.data)
        assert event.data == {"next": event.id}
        return found

    async def take(self, number: int) -> list[dict[str, Any]]:
        return [(await self.next()).data for _ in range(number)]


@asynccontextmanager
async def streaming(
    server: Server, query: str = "", secret: str = ACME, **headers: str
) -> AsyncIterator[EventStream]:
    """``headers``: names with underscores instead of hyphens."""
    sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {
        "Accept": "text/event-stream",
        "Authorization": f"Bearer {server.secret(secret)}",
        **sent_headers,
    }
    async with server.session.get(f"/v1/changes?{query}", headers=sent) as response:
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"] == "text/event-stream"
        yield EventStream(response)
        with contextlib.suppress(Exception):
            response.close()
