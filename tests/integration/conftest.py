"""Fixtures: a repository that tests append events to, and processes that read no certificates."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.integration.projector.sample_log import ContentBuilder
from write_side.repository import Repository


@pytest.fixture
def builder(repository: Repository) -> ContentBuilder:
    return ContentBuilder(repository)


@pytest.fixture(autouse=True, scope="package")
def no_certificates() -> Iterator[None]:
    """Processes that these tests start trust no certificate of the system: reading them takes a
    process 0.1 s. Client libraries refuse a file without certificates, so tests/e2e does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", os.devnull)
        yield
