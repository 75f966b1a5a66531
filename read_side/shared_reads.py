"""Reads that share round trips: those of a workspace that arrive while one of the same kind is in
progress are answered together by the next statement.

A round trip costs several times what PostgreSQL does for a single entry. A statement serves one
workspace and environment, so no workspace waits for another's rows.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections import deque
from collections.abc import Sequence
from typing import Any

import asyncpg
from msgspec import Struct

from read_side.refusals import ReadModelUnavailable
from write_side import tracing
from write_side.postgres.connection import Fetch
from write_side.postgres.statements import statements

BYTES = 16 * 1024 * 1024
"""The most bytes of the reads that share a statement, counted by their parameters ``limit`` and
``inline``: rows, and bytes that a row may have."""
SMALL = 16 * 1024
"""Bytes of a row without ``inline``, which is an id or little more; so that a statement has at most
a thousand of them."""
_STATEMENTS = statements("read_side")
_TYPES = {
    "type_slug": "text",
    "status": "text",
    "language": "text",
    "locale": "text",
    "slug_hash": "bytea",
    "limit": "bigint",
    "offset": "bigint",
    "inline": "int",
}
_NUMBERED = re.compile(r"\$(\d+)")
_NAMES = re.compile(r"\$\d+ (\w+)")
_OWN = 2
"""Parameters that all reads of a statement share: workspace and environment."""


class _Read(Struct):
    """``context``: of its span; ``sent_in``: of the span of its statement."""

    parameters: Sequence[Any]
    records: asyncio.Future[list[asyncpg.Record]]
    context: str | None
    sent_in: str | None = None


_Key = tuple[str, str, str]


class SharedReads:
    """``fetch``: executes one statement. Raises ReadModelUnavailable."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._waiting: dict[_Key, deque[_Read]] = {}
        """By statement, workspace and environment, for each that has a read in progress."""
        self._running: set[asyncio.Task[None]] = set()

    async def fetch(
        self, name: str, workspace: str, environment: str, *parameters: Any
    ) -> list[asyncpg.Record]:
        """The rows that the statement of this name returns. Raises ReadModelUnavailable."""
        key = (name, workspace, environment)
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque()
            try:
                return await self._fetch(_STATEMENTS[name], *key[1:], *parameters)
            finally:
                self._start_next(key)
        with tracing.span("share a read", attributes={"contentlog.statement": name}) as span:
            read = _Read(parameters, asyncio.get_running_loop().create_future(), span.context)
            waiting.append(read)
            try:
                return await read.records
            finally:
                span.link(read.sent_in)

    def _start_next(self, key: _Key) -> None:
        together = self._take(key)
        if not together:
            del self._waiting[key]
            return
        # Not in the span of the read that was sent before.
        task = asyncio.create_task(
            self._run(key, together), name="shared reads", context=contextvars.Context()
        )
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _take(self, key: _Key) -> list[_Read]:
        """The next reads that were not cancelled, up to BYTES, but at least one if there is any."""
        waiting, together, size = self._waiting[key], list[_Read](), 0
        while waiting:
            size += _most_bytes(key[0], waiting[0].parameters)
            if together and size > BYTES:
                break
            read = waiting.popleft()
            if not read.records.done():
                together.append(read)
        return together

    async def _run(self, key: _Key, reads: list[_Read]) -> None:
        try:
            if len(reads) > 1 and await self._run_together(key, reads):
                return
            for read in reads:
                await self._run_alone(key, read)
        except ReadModelUnavailable as error:
            # One read after another would only find out the same, each after its timeouts.
            self._fail([*reads, *self._waiting[key]], error)
        except BaseException as error:
            self._fail(reads, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._start_next(key)

    async def _run_together(self, key: _Key, reads: list[_Read]) -> bool:
        """False if a parameter of one of them causes an error. Raises ReadModelUnavailable."""
        columns = zip(*(read.parameters for read in reads), strict=True)
        try:
            with _span(key, reads):
                records = await self._fetch(TOGETHER[key[0]], *key[1:], *map(list, columns))
        except (asyncpg.PostgresError, asyncpg.DataError):
            return False
        found: list[list[asyncpg.Record]] = [[] for _ in reads]
        for record in records:
            found[record["read"] - 1].append(record)
        for read, rows in zip(reads, found, strict=True):
            _answer(read, rows)
        return True

    async def _run_alone(self, key: _Key, read: _Read) -> None:
        try:
            with _span(key, [read]):
                records = await self._fetch(_STATEMENTS[key[0]], *key[1:], *read.parameters)
        except ReadModelUnavailable:
            raise
        except Exception as error:
            self._fail([read], error)
        else:
            _answer(read, records)

    def _fail(self, reads: list[_Read], error: BaseException) -> None:
        for read in reads:
            if not read.records.done():
                read.records.set_exception(
                    error if isinstance(error, Exception) else ReadModelUnavailable()
                )


def _span(key: _Key, reads: list[_Read]) -> tracing.Span:
    """The span of a statement for several reads: a child of the first, linked to the others."""
    span = tracing.shared(
        [read.context for read in reads],
        "shared read",
        "internal",
        {"contentlog.statement": key[0], "contentlog.reads": len(reads)},
    )
    for read in reads:
        read.sent_in = span.context
    return span


def _answer(read: _Read, records: list[asyncpg.Record]) -> None:
    if not read.records.done():
        read.records.set_result(records)


def _most_bytes(name: str, parameters: Sequence[Any]) -> int:
    values = dict(zip(_PARAMETERS[name], parameters, strict=True))
    size: int = values.get("limit", 1) * values.get("inline", SMALL)
    return size


def _names(statement: str) -> list[str]:
    return _NAMES.findall(statement.split("\n", 1)[0])


def _together(statement: str) -> str:
    """The statement for several reads: from the third on, each parameter is an array with a value
    for each read. ``read`` is the number of the read to which a row belongs, from 1. The rows of a
    read keep their order, because PostgreSQL joins a function and a LATERAL subquery of it by a
    nested loop.

    It consists only of packaged text, and is built when the module is imported.
    """
    names = _names(statement)
    arrays = ", ".join(
        f"${number}::{_TYPES[name]}[]" for number, name in enumerate(names, 1) if number > _OWN
    )
    columns = ", ".join(f"p{number}" for number in range(_OWN + 1, len(names) + 1))

    def column(parameter: re.Match[str]) -> str:
        return parameter[0] if int(parameter[1]) <= _OWN else f"q.p{parameter[1]}"

    own = _NUMBERED.sub(column, statement.split("\n", 1)[1])
    reads = f"unnest({arrays}) WITH ORDINALITY AS q({columns}, read)"
    return f"SELECT q.read, own.* FROM {reads} CROSS JOIN LATERAL (\n{own}\n) own"  # noqa: S608


TOGETHER = {
    name: _together(statement)
    for name, statement in _STATEMENTS.items()
    if _names(statement)[:_OWN] == ["workspace", "environment"]
    and set(_names(statement)[_OWN:]) <= _TYPES.keys()
    and len(_names(statement)) > _OWN
}
"""The statements that several reads can share, by name."""
_PARAMETERS = {name: _names(_STATEMENTS[name])[_OWN:] for name in TOGETHER}
"""The names of those that differ between reads."""
