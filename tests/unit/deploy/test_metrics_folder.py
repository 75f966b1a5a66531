"""The folder of the workers' metrics, and folders left by killed processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.worker_metrics import FOLDER, NEW, metrics_folder

HOLDING = """
import time
from deploy.worker_metrics import metrics_folder
with metrics_folder() as folder:
    open(f"{folder}/gauge.db", "w").close()
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def aged(folder: Path) -> None:
    then = time.time() - 2 * NEW
    os.utime(folder, (then, then))


def test_a_folder_disappears_at_the_end(temporary: Path) -> None:
    with metrics_folder() as folder:
        assert Path(folder).parent == temporary
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next(temporary: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    aged(folder)
    with metrics_folder():
        assert folder.exists()  # the process that owns it is running
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with metrics_folder():
        assert not folder.exists()


def test_a_new_folder_and_what_is_not_a_folder_are_left(temporary: Path) -> None:
    (temporary / f"{FOLDER}new").mkdir()
    kept = temporary / "kept"
    kept.mkdir()
    (temporary / f"{FOLDER}link").symlink_to(kept)
    (temporary / f"{FOLDER}file").touch()
    aged(kept)
    aged(temporary / f"{FOLDER}file")
    before = set(temporary.iterdir())
    with metrics_folder():
        pass
    assert set(temporary.iterdir()) == before
