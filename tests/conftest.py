"""Fixtures for the whole suite: a real PostgreSQL, and a fresh database for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import settings

from tests.databases import Databases
from tests.engines import ENGINE, UnknownEngine, engine
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import Recorder, open_recorder

# How long an example takes says more about the machine's other work than about the example.
settings.register_profile("contentlog", deadline=None)
settings.load_profile("contentlog")

# A suite that runs in a script's background ignores Ctrl-C, and so would the processes that tests
# start in order to interrupt them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    try:
        engine()
    except UnknownEngine as error:
        raise pytest.UsageError(f"{ENGINE}: {error}") from None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := engine().reason_to_leave_out(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True, scope="session")
def _loggers_follow_their_configuration() -> Iterator[None]:
    """A command that is run within the tests' own process configures logs as a process of its own
    would, for good; here the next test configures them anew."""
    configure = structlog.configure

    def configured(**options: Any) -> None:
        configure(**{**options, "cache_logger_on_first_use": False})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structlog, "configure", configured)
        yield


@pytest.fixture(autouse=True)
def _loggers_begin_as_they_are() -> None:
    """Not as a command has configured them that was run within an earlier test."""
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the whole run, whatever number of workers it has."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(autouse=True, scope="session")
def _numbers_of_the_machine_are_of_the_run(run_folder: Path) -> Iterator[None]:
    """Their files would be left, and tests look for what is left among temporary files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("read_side.seen.gettempdir", lambda: str(run_folder))
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
    """A database of this test alone, with the event store and the read model in it."""
    with databases.new() as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(databases: Databases) -> Iterator[str]:
    """One for the tests of a module that do not disturb one another."""
    with databases.new() as url:
        yield url


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    with databases.new(empty=True) as url:
        yield url


@pytest.fixture
def model_url(databases: Databases) -> Iterator[str]:
    """A second database: for a read model that is not in the database of its event store."""
    with databases.new() as url:
        yield url


@pytest.fixture
def fresh_url(databases: Databases) -> Iterator[str]:
    """Another one: for a projection with which all is compared."""
    with databases.new() as url:
        yield url


@pytest.fixture
async def recorder(database_url: str) -> AsyncIterator[Recorder]:
    async with open_recorder(database_url) as recorder:
        yield recorder


@pytest.fixture
def repository(recorder: Recorder) -> Repository:
    return Repository(recorder, EventMapper())
