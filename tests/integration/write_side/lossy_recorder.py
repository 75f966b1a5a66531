"""A recorder whose appends go through a proxy that loses connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import asyncpg
import pytest

from tests.integration.write_side.sample_commands import plain
from tests.proxy import Proxy, proxy_to
from write_side.postgres.connection import connect
from write_side.store.append import Append, Appended
from write_side.store.recorder import Recorder


class LossyRecorder:
    """A recorder that appends through a proxy and reads without it."""

    def __init__(self, recorder: Recorder, proxy: Proxy) -> None:
        self.recorder = recorder
        self.proxy = proxy
        self.connects = 0
        self.appends = 0

    async def append(self) -> Append:
        """Appends two events and checks that they are in the log once, at the position that was
        returned."""
        self.appends += 1
        append = plain(f"test/{self.appends}", n=2)
        await self.check(append, await self.recorder.append(append))
        return append

    async def check(self, append: Append, appended: Appended) -> None:
        rows = await self.recorder.log(appended.position - 1, appended.events)
        streams = [(row["originator_id"], row["originator_version"]) for row in rows]
        assert streams == [(e.originator_id, e.originator_version) for e in append.events]

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Lets appends wait only this long for PostgreSQL, instead of 10 s."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.recorder._appender, "_patience", seconds)
            patch.setattr(self.recorder._large_appender, "_patience", seconds)
            yield

    def reconnect(self) -> None:
        """Makes the next append begin with a new connection."""
        self.recorder._appender._disconnect()


@asynccontextmanager
async def lossy(database_url: str) -> AsyncIterator[LossyRecorder]:
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(proxy_to(database_url))
        pool = await stack.enter_async_context(asyncpg.create_pool(database_url, min_size=1))

        async def connect_through() -> asyncpg.Connection[asyncpg.Record]:
            found.connects += 1
            return await connect(proxy.url)

        recorder = Recorder(pool, connect_through)
        stack.push_async_callback(recorder.close)
        found = LossyRecorder(recorder, proxy)
        yield found
