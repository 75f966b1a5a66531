"""A log to fill, and a second database for those who want one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.databases import Databases
from tests.integration.projector.sample_log import Given
from write_side.repository import Repository


@pytest.fixture
def given(repository: Repository) -> Given:
    return Given(repository)


@pytest.fixture
def model_url(databases: Databases) -> Iterator[str]:
    """A read model in a database of its own."""
    with databases.new() as url:
        yield url
