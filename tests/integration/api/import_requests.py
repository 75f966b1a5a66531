"""Imports over HTTP, as a script would send them."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import aiohttp

from tests.integration.api.server import Answer, Client

PATH = "/v1/imports"
GOOD = b"Title,Body\nOne,x\nTwo,y\n"


def form(document: bytes | None, name: str = "posts.csv", **fields: str) -> aiohttp.FormData:
    """The file is the first part, as curl sends it. ``map_Body`` becomes the part map[Body]."""
    data = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
    if document is not None:
        data.add_field("file", io.BytesIO(document), filename=name)
    for field, value in {"contentType": "posts", **fields}.items():
        is_map = field.startswith("map_")
        data.add_field(f"map[{field.removeprefix('map_')}]" if is_map else field, value)
    return data


async def send(
    client: Client,
    document: bytes | None = GOOD,
    name: str = "posts.csv",
    headers: dict[str, str] | None = None,
    path: str = PATH,
    **fields: str,
) -> Answer:
    return await client.ask("POST", path, headers, data=form(document, name, **fields))


async def accepted(client: Client, document: bytes = GOOD, **more: Any) -> str:
    """Sends an import and returns its path."""
    answer = await send(client, document, **more)
    assert answer.status == 202, answer.text
    return str(answer.headers["Location"])


async def ended(client: Client, path: str) -> dict[str, Any]:
    """Waits until the import is no longer in progress and returns it."""
    async with asyncio.timeout(60):
        while True:
            answer = await client.get(path)
            assert answer.status == 200, answer.text
            if answer.data["state"] not in ("checking", "importing"):
                return dict(answer.data)
            await asyncio.sleep(0.02)


async def done(client: Client, document: bytes = GOOD, **more: Any) -> dict[str, Any]:
    return await ended(client, await accepted(client, document, **more))
