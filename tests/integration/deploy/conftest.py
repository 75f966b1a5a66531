"""Folders for embedded servers."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.deploy.processes import kill_all_in


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of this machine can enter, unlike root's tmp_path."""
    folder = Path(tempfile.mkdtemp(prefix="contentlog-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


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
