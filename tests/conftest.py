"""Fixtures for the whole suite: a real PostgreSQL, and a new database for each test."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import asyncpg
import pytest
import structlog
from hypothesis import settings

from tests.databases import Databases
from tests.engines import ENGINE, UnknownEngine, engine
from write_side.imports import file_reader
from write_side.imports.worker import Answer, Task, answer_to
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import Recorder, open_recorder

# The time an example takes depends mostly on the machine's other work.
settings.register_profile("contentlog", deadline=None, max_examples=40)
settings.load_profile("contentlog")

# rich would draw the source and the variables of every frame: half a second for each exception.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

FIRST_CREATED_OID = 16_384
"""PostgreSQL's own types have lower numbers, the same in every database."""
NO_STATEMENT = SimpleNamespace(name="none")
"""Instead of the statement that looked types up; asyncpg reads only whether it has a name."""

READ_IN_A_PROCESS = file_reader._answer

# If a script runs the suite in the background, the suite ignores Ctrl-C, and so would the
# processes that tests start and then interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    try:
        engine()
    except UnknownEngine as error:
        raise pytest.UsageError(f"{ENGINE}: {error}") from None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects garbage only once, after the tests are collected, and freezes what remains: it stays
    until the end. Examining it again would take a quarter of the time in which tests are
    collected, and later 0.2 s of a test each time."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := engine().reason_to_leave_out(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """SIGTERM, as from ``timeout``, ends the run like Ctrl-C, so that the run's PostgreSQL is
    stopped. Set for each test, because an event loop resets the signals that it has handled."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _loggers_follow_their_configuration() -> Iterator[None]:
    """Disables structlog's logger cache. A command run inside the test process configures logging
    for good; without the cache, later tests can configure it again."""
    configure = structlog.configure

    def configured(**options: Any) -> None:
        configure(**{**options, "cache_logger_on_first_use": False})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structlog, "configure", configured)
        yield


@pytest.fixture(autouse=True)
def _loggers_begin_as_they_are() -> None:
    """Resets the logging configuration left by a command in an earlier test."""
    structlog.reset_defaults()


@pytest.fixture(autouse=True, scope="session")
def _types_are_looked_up_once() -> Iterator[None]:
    """Remembers PostgreSQL's own types, such as arrays. asyncpg looks them up on every connection,
    which takes the server three times as long as the connection itself. Through a pooler, which
    cannot cache statements either, it still does."""
    looked_up: dict[tuple[Any, ...], Any] = {}
    look_up = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]

    async def remembered(connection: Any, oids: set[int], timeout: float | None) -> Any:
        if max(oids) >= FIRST_CREATED_OID or not connection._config.statement_cache_size:
            return await look_up(connection, oids, timeout)
        key = (connection.get_server_version(), *sorted(oids))
        if key not in looked_up:
            looked_up[key], _ = await look_up(connection, oids, timeout)
        return looked_up[key], NO_STATEMENT

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncpg.Connection, "_introspect_types", remembered)
        yield


@pytest.fixture(autouse=True, scope="session")
def _files_are_read_in_a_thread() -> Iterator[None]:
    """Reads imported files without the process that does so otherwise, which takes 0.1 s to start.
    Tests of that process use ``reading_process``."""

    async def answer(file: BinaryIO, task: Task) -> Answer:
        return await asyncio.to_thread(answer_to, task, file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_reader, "_answer", answer)
        yield


@pytest.fixture
def reading_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is read in a separate process."""
    monkeypatch.setattr(file_reader, "_answer", READ_IN_A_PROCESS)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the whole run, shared by all pytest workers."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(autouse=True, scope="session")
def _each_worker_has_its_own_high_water_marks(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Keeps the files of ``high_water_mark`` in the worker's folder. Tests check for files left
    among the temporary files. Every service looks at all files of its folder."""
    folder = str(tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("read_side.high_water_mark.gettempdir", lambda: folder)
        yield


@pytest.fixture(scope="session")
def databases(run_folder: Path) -> Iterator[Databases]:
    with (
        engine().cluster(run_folder) as cluster,
        closing(
            Databases(
                cluster,
                run_folder,
                engine().nodes(cluster),
                engine().set_up,
                engine().model_engine,
            )
        ) as databases,
    ):
        yield databases


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A database with the event store and the read model, for one test."""
    with databases.new() as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(databases: Databases) -> Iterator[str]:
    """A database shared by a module's tests, which must not affect each other."""
    with databases.new() as url:
        yield url


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    with databases.new(empty=True) as url:
        yield url


@pytest.fixture
def model_url(databases: Databases) -> Iterator[str]:
    """A second database, for a read model outside its event store's database."""
    with databases.new() as url:
        yield url


@pytest.fixture
def fresh_url(databases: Databases) -> Iterator[str]:
    """A third database, for a fresh projection to compare with."""
    with databases.new() as url:
        yield url


@pytest.fixture
async def recorder(database_url: str) -> AsyncIterator[Recorder]:
    async with open_recorder(database_url) as recorder:
        yield recorder


@pytest.fixture
def repository(recorder: Recorder) -> Repository:
    return Repository(recorder, EventMapper())
