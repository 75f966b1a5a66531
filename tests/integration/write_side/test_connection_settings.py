"""What every connection requests of PostgreSQL, and how it behaves behind a pooler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from read_side.pool import open_pool
from tests.default_server import BINARIES, default_server
from tests.trials.drill_servers import REQUIRED
from tests.trials.ha_cluster import TrialImpossible, postgres_programs
from write_side.postgres.connection import connect, set_defaults
from write_side.postgres.pooler import PoolerUrl, UnexpectedPooler
from write_side.store.recorder import Recorder

JIT = "SHOW jit"


@pytest.fixture
async def compiling_url(empty_database_url: str) -> str:
    """A database that compiles plans, as PostgreSQL does by default."""
    connection = await asyncpg.connect(empty_database_url)
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f'ALTER DATABASE "{name}" SET jit = on')
    await connection.close()
    return empty_database_url


async def _jit(connection: asyncpg.Connection[asyncpg.Record]) -> str:
    try:
        return str(await connection.fetchval(JIT))
    finally:
        await connection.close()


async def test_connections_do_not_compile_plans(compiling_url: str) -> None:
    assert await _jit(await asyncpg.connect(compiling_url)) == "on"
    assert await _jit(await connect(compiling_url)) == "off"


async def test_pools_do_not_compile_plans(compiling_url: str, recorder: Recorder) -> None:
    async with open_pool(compiling_url) as pool:
        [row] = await pool.fetch(JIT)
    assert row["jit"] == "off"
    async with recorder.pool.acquire() as connection:
        source = await connection.fetchval("SELECT source FROM pg_settings WHERE name = 'jit'")
    assert source == "client"


async def test_a_role_has_the_settings_by_default(compiling_url: str) -> None:
    connection = await asyncpg.connect(compiling_url)
    await set_defaults(connection)
    await connection.close()
    assert await _jit(await asyncpg.connect(compiling_url)) == "off"


@pytest.mark.slow  # starts a server
async def test_long_values_are_compressed_with_lz4_where_the_server_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        monkeypatch.setenv(BINARIES, str(postgres_programs()))
    except TrialImpossible as missing:
        if REQUIRED:
            raise
        pytest.skip(str(missing))
    with default_server() as url:
        connection = await asyncpg.connect(url)
        await set_defaults(connection)
        await connection.close()
        connection = await asyncpg.connect(url)
        await connection.execute("CREATE TABLE long (value text)")
        await connection.execute("INSERT INTO long VALUES (repeat('word ', 10000))")
        assert await connection.fetchval("SELECT pg_column_compression(value) FROM long") == "lz4"
        await connection.close()


async def test_a_server_without_lz4_keeps_its_compression(empty_database_url: str) -> None:
    connection = await asyncpg.connect(empty_database_url)
    known = await connection.fetchval(
        "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'"
    )
    await set_defaults(connection)
    await connection.close()
    connection = await asyncpg.connect(empty_database_url)
    assert await connection.fetchval("SHOW default_toast_compression") == known[-1]
    await connection.close()


@asynccontextmanager
async def pooler(refuses: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Refuses a startup parameter as PgBouncer does, and any login without it."""
    startups: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        startup = await reader.readexactly(int.from_bytes(await reader.readexactly(4)) - 4)
        startups.append(startup)
        if refuses in startup:
            code, text = b"08P01", b"unsupported startup parameter: " + refuses
        else:
            code, text = b"28000", b"no such user"
        fields = b"SFATAL\0C" + code + b"\0M" + text + b"\0\0"
        writer.write(b"E" + (len(fields) + 4).to_bytes(4) + fields)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"postgresql://u:p@127.0.0.1:{port}/d?sslmode=disable", startups


async def test_a_pooler_that_refuses_a_parameter_is_named_with_what_to_set() -> None:
    async with pooler(refuses=b"jit") as (url, _):
        with pytest.raises(UnexpectedPooler, match=r"at '127\.0\.0\.1:.*_POOL_URL") as refusal:
            await connect(url)
    assert "u:p" not in str(refusal.value)


async def test_a_pooler_is_asked_only_for_parameters_that_it_knows() -> None:
    async with pooler(refuses=b"jit") as (url, startups):
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError, match="no such user"):
            await connect(PoolerUrl(url), server_settings={"application_name": "a", "x.y": "b"})
    [startup] = startups
    assert b"application_name" in startup
    assert b"x.y" not in startup
