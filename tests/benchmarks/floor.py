"""The minimal server on aiohttp and asyncpg: a GET runs one query for ready-made bytes, a POST one
INSERT of the body.

``plain`` uses asyncpg's pool, as its documentation does. ``lean`` uses contentlog's pool, so that
the remaining difference is contentlog's own work. ``fixed`` sends the same bytes without a query.
Processes may share a port.

``GET /rows/10/500`` joins 10 ready-made rows from the 500th on, which it finds by their key.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
from aiohttp import web

from read_side.pool import open_pool

POOLS: dict[str, Callable[[str], Any]] = {
    "plain": lambda url: asyncpg.create_pool(url, min_size=2, max_size=10),
    "lean": open_pool,
}


def main(kind: str, source: str, port: int) -> None:
    """``source`` is a database URL, or for ``fixed`` the file with the bytes."""
    app = fixed(Path(source).read_bytes()) if kind == "fixed" else querying(kind, source)
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, reuse_port=True, print=None)


def fixed(body: bytes) -> web.Application:
    async def ready(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.add_routes([web.get("/", ready)])
    return app


def querying(kind: str, url: str) -> web.Application:
    opened: Any = None

    async def pool(_: web.Application) -> AsyncIterator[None]:
        nonlocal opened
        async with POOLS[kind](url) as opened:
            yield

    async def ready(_: web.Request) -> web.Response:
        [(body,)] = await opened.fetch("SELECT body FROM floor WHERE id = $1", 1)
        return web.Response(body=body, content_type="application/json")

    async def rows(request: web.Request) -> web.Response:
        limit, first = (int(request.match_info[name]) for name in ("limit", "first"))
        found = await opened.fetch(
            "SELECT body FROM floor_row WHERE id >= $1 ORDER BY id LIMIT $2", first, limit
        )
        body = b'{"data":[' + b",".join(body for (body,) in found) + b"]}"
        return web.Response(body=body, content_type="application/json")

    async def insert(request: web.Request) -> web.Response:
        await opened.fetch("INSERT INTO floor_entry (body) VALUES ($1)", await request.read())
        return web.Response(body=b'{"data":{}}', content_type="application/json")

    app = web.Application()
    app.cleanup_ctx.append(pool)
    app.add_routes(
        [
            web.get("/", ready),
            web.get("/rows/{limit}/{first}", rows),
            web.post("/", insert),
        ]
    )
    return app


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
