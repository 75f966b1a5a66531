"""Folders for embedded servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.deploy.processes import kill_all_in
from tests.processes import open_folder


@pytest.fixture(name="open_folder")
def _open_folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def system_folders(open_folder: Path) -> tuple[Path, ...]:
    """The system folders that root uses, for this test only."""
    return (open_folder / "system",)


@pytest.fixture
def data(open_folder: Path) -> Iterator[Path]:
    """A new data folder; fails the test if a server is left in it."""
    folder = open_folder / "data"
    yield folder
    assert kill_all_in(folder) == []


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A data folder that only its owner can reach."""
    tmp_path.chmod(0o700)
    return tmp_path / "data"
