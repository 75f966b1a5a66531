"""A repository that tests append events to."""

from __future__ import annotations

import pytest

from tests.integration.projector.sample_log import ContentBuilder
from write_side.repository import Repository


@pytest.fixture
def builder(repository: Repository) -> ContentBuilder:
    return ContentBuilder(repository)
