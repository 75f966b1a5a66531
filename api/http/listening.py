"""The listening socket of an API process."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import structlog
from aiohttp import web

BACKLOG = 1024
_log = structlog.get_logger("api.connections")


async def listen(runner: web.BaseRunner, host: str, port: int, *, reuse_port: bool = False) -> None:
    """Accepts connections. If no descriptor is free, it logs a line and tries again after a second.

    asyncio accepts up to ``backlog`` connections in a turn. For each failure it logs an error and
    schedules another turn a second later, so with a backlog of 128 their number multiplies every
    second. asyncio gets a backlog of 1; the socket itself has the real one.
    """
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_fault)
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, address in dict.fromkeys((one[0], one[4]) for one in found):
        listening = socket.create_server(
            address[:2], family=family, reuse_port=reuse_port, dualstack_ipv6=False
        )
        await web.SockSite(runner, listening, backlog=1).start()
        listening.listen(BACKLOG)


def _log_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if "accept" in context["message"]:
        _log.error("connections cannot be accepted", fault=repr(context.get("exception")))
    else:
        loop.default_exception_handler(context)
