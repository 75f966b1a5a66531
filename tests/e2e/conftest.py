"""Fixtures: a data folder that every user can access, a free port, and `contentlog dev` on both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.dev import Dev
from tests.integration.deploy.processes import kill_all_in, running_in, until
from tests.processes import free_port, open_folder


@pytest.fixture
def data() -> Iterator[Path]:
    """An empty data folder that every user can access: PostgreSQL runs as another user."""
    with open_folder() as folder:
        data = folder / "data"
        yield data
        # Stopping waits for the removal of the pid file, shortly before the server ends.
        with suppress(AssertionError):
            until(lambda: not running_in(data), 20)
        left = kill_all_in(data)
    assert left == []


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def start(data: Path, port: int) -> Iterator[Any]:
    started: list[Dev] = []

    def _start(*arguments: str) -> Dev:
        started.append(Dev(data, port, *arguments))
        return started[-1]

    yield _start
    for dev in started:
        dev.kill()
