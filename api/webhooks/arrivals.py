"""The environments in which changes have arrived. The projector's notices name them, so this costs
no query."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from read_side.checkpoint import fetch_checkpoint
from read_side.notices import CHANNEL, decode_notice
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection, connected
from write_side.waiting import wait_until_set

PATIENCE = 5.0
"""Seconds until a connection on which the database does not respond is given up."""


class Arrivals:
    """Follows the checkpoint over a connection of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: tuple[int, int] | None = None
        self._scopes: set[Scope] | None = None
        self._arrived = asyncio.Event()

    async def next(self, patience: float) -> frozenset[Scope] | None:
        """The environments with new changes since the last call, possibly none; None for any
        environment. Waits up to ``patience`` seconds for them, and then reads the checkpoint in
        case a notice was lost. Raises what the connection raises."""
        if not await wait_until_set(self._arrived, patience):
            await self._read_checkpoint()
        self._arrived.clear()
        scopes, self._scopes = self._scopes, set()
        return None if scopes is None else frozenset(scopes)

    def on_notice(self, *notification: Any) -> None:
        self._arrived.set()
        try:
            notice = decode_notice(notification[-1])
        except msgspec.DecodeError:
            # From another version of contentlog.
            self._scopes = self._known = None
            return
        is_next = self._known == (notice.epoch, notice.after)
        self._known = (notice.epoch, notice.position)
        if not is_next or notice.changed is None:
            self._scopes = None
        elif self._scopes is not None:
            self._scopes |= {Scope(one.workspace, one.environment) for one in notice.changed}

    async def _read_checkpoint(self) -> None:
        known = self._known
        live = await fetch_checkpoint(self._connection)
        checkpoint = (live.epoch, live.position)
        # Otherwise a notice has arrived meanwhile.
        if known == self._known and checkpoint != known:
            self._known = checkpoint
            self._scopes = None


@asynccontextmanager
async def open_arrivals(url: str) -> AsyncIterator[Arrivals]:
    """``url``: of the read model."""
    async with connected(url, timeout=PATIENCE, command_timeout=PATIENCE) as connection:
        arrivals = Arrivals(connection)
        await connection.add_listener(CHANNEL, arrivals.on_notice)
        yield arrivals
