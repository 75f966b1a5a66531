"""Statements and connections of this process while a PostgreSQL leader is frozen."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import asyncpg
import pytest

from deploy.embedded.sockets import OWNER
from tests.e2e.postgres import Postgres, postgres
from tests.integration.deploy.processes import eventually
from tests.processes import open_folder
from write_side.postgres.connection import connect
from write_side.postgres.leader_watch import BEAT, SILENT

pytestmark = pytest.mark.slow
FROZEN = BEAT + SILENT + 2
"""Seconds: longer than it takes to detect that the leader is unresponsive."""
SLEEP = "SELECT 'slept' FROM pg_sleep($1)"


@pytest.fixture
def servers() -> Iterator[tuple[Postgres, Postgres]]:
    """A leader and its standby."""
    with open_folder() as folder, ExitStack() as stack:
        leader = stack.enter_context(postgres(folder / "leader"))
        stack.callback(leader.signal, signal.SIGCONT)
        standby = Postgres(folder / "standby")
        standby.make_standby_of(leader)
        standby.start()
        stack.callback(standby.stop)
        yield leader, standby


async def test_statements_end_when_another_leads_and_not_before(
    servers: tuple[Postgres, Postgres],
) -> None:
    leader, standby = servers
    hosts = ",".join(f"127.0.0.1:{one.port}" for one in servers)
    url = f"postgresql://{OWNER}@{hosts}/postgres?target_session_attrs=read-write"
    connection, idle = await connect(url), await connect(url)
    under_way = asyncio.create_task(connection.fetchval(SLEEP, FROZEN))
    await asyncio.sleep(0.1)
    leader.signal(signal.SIGSTOP)
    await asyncio.sleep(FROZEN)
    assert not under_way.done()
    leader.signal(signal.SIGCONT)
    assert await under_way == "slept"
    assert not idle.is_closed()

    under_way = asyncio.create_task(connection.fetchval(SLEEP, FROZEN))
    await asyncio.sleep(0.1)
    leader.signal(signal.SIGSTOP)
    await asyncio.to_thread(standby.promote)
    with pytest.raises(asyncpg.ConnectionDoesNotExistError):
        await under_way
    await eventually(idle.is_closed)
    other = await connect(url)
    assert await other.fetchval("SHOW port") == str(standby.port)
    await other.close()
