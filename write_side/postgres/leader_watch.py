"""Watches which host of a URL leads, for all connections of a process that use the URL.

A server that is frozen or cut off does not end its connections, and a statement may take as long on
a slow one. So the other hosts decide: when the leader is silent, all hosts are asked, and as soon
as another one leads, the connections to the silent one are ended. A leader that is only slow keeps
its connections, because no other host leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg
import structlog

from write_side.postgres.faults import FAULTS
from write_side.postgres.pooler import host_of

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
"""A connection that is not from a pool."""

BEAT = 0.5
"""Seconds between two statements that show that the leader responds."""
SILENT = 2.0
"""Seconds for one of them. It takes longer to replace a leader."""
AGAIN = 0.25
"""Seconds until the hosts are asked again if none leads."""
_LEADS = {"read-write", "primary"}
_watches: dict[tuple[asyncio.AbstractEventLoop, str], LeaderWatch] = {}
_log = structlog.get_logger("write_side.leader_watch")

HostSession: TypeAlias = tuple[str, Session]
"""The URL of a host, and a connection to it."""
FindLeader: TypeAlias = Callable[[], Coroutine[Any, Any, HostSession]]


def wants_leader(url: str) -> bool:
    targets = parse_qs(urlsplit(url).query).get("target_session_attrs", ())
    return not _LEADS.isdisjoint(targets)


def leader_watch(url: str, find: FindLeader) -> LeaderWatch:
    """The watch of this URL; a new one finds the leader with ``find``."""
    key = (asyncio.get_running_loop(), url)
    if key not in _watches:
        _watches[key] = LeaderWatch(find, lambda: _watches.pop(key))
    return _watches[key]


class LeaderWatch:
    """Runs while it is used, with a connection of its own; then it calls ``ended``."""

    def __init__(self, find: FindLeader, ended: Callable[[], object]) -> None:
        self._find = find
        self._ended = ended
        self._connecting: dict[asyncio.Task[Session], str] = {}
        self._waiting = 0
        self._open: dict[Session, str] = {}
        self._finding = self._begin()
        self._running = asyncio.create_task(self._run(), name="leader watch")

    async def connect(self, connect_to: Callable[[str], Coroutine[Any, Any, Session]]) -> Session:
        """A connection to the leader; ``connect_to`` gets the URL of its host. Raises what the
        hosts answered if none leads, so that only this watch asks them again and again."""
        self._waiting += 1
        try:
            while True:
                leader, _ = await asyncio.shield(self._finding)
                connecting = asyncio.create_task(connect_to(leader))
                self._connecting[connecting] = leader
                try:
                    await asyncio.wait([connecting])
                except asyncio.CancelledError:
                    connecting.cancel()
                    connecting.add_done_callback(_end)
                    raise
                finally:
                    del self._connecting[connecting]
                if not connecting.cancelled():
                    connection = connecting.result()
                    self._open[connection] = leader
                    return connection
        finally:
            self._waiting -= 1

    def _is_used(self) -> bool:
        self._open = {one: host for one, host in self._open.items() if not one.is_closed()}
        return bool(self._waiting or self._open)

    async def _run(self) -> None:
        try:
            while True:
                try:
                    leader, connection = await self._finding
                except Exception:
                    await asyncio.sleep(AGAIN)
                else:
                    await self._follow(leader, connection)
                if not self._is_used():
                    return
                self._finding = self._begin()
        finally:
            self._ended()

    def _begin(self) -> asyncio.Task[HostSession]:
        return asyncio.create_task(self._find(), name="finds the leader")

    async def _follow(self, leader: str, connection: Session) -> None:
        """Runs until the leader is silent, or nothing uses it."""
        self._terminate_others(leader)
        try:
            while True:
                await connection.execute("SELECT 1", timeout=SILENT)
                await asyncio.sleep(BEAT)
                if not self._is_used():
                    return
        except FAULTS as fault:
            _log.warning("the leader is silent", fault=repr(fault))
        finally:
            connection.terminate()

    def _terminate_others(self, leader: str) -> None:
        for connecting, host in self._connecting.items():
            if host != leader and not connecting.cancel():
                _end(connecting)  # it is open, but ``connect`` has not got it yet
        useless = [connection for connection, host in self._open.items() if host != leader]
        for connection in useless:
            connection.terminate()
        if useless:
            ended = len(useless)
            _log.warning("another host leads", leader=host_of(leader), connections_ended=ended)


def _end(connecting: asyncio.Task[Session]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().terminate()
