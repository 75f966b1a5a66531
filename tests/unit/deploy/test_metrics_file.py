"""The files of the API workers' metrics, on a full disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import click
import pytest

from deploy.worker_metrics import SIZE, MetricsFile

VALUES = 2 * SIZE // 100


def fill(file: MetricsFile) -> None:
    for number in range(VALUES):
        file.read_value(f"{number:0100}")
        file.write_value(f"{number:0100}", number, 0.0)  # type: ignore[no-untyped-call]


def test_a_file_has_no_holes_that_a_full_disk_could_not_fill(tmp_path: Path) -> None:
    path = tmp_path / "counter_1.db"
    file = MetricsFile(str(path))
    assert path.stat().st_blocks * 512 >= path.stat().st_size == SIZE
    fill(file)
    assert path.stat().st_blocks * 512 >= path.stat().st_size > 2 * SIZE
    read = MetricsFile.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
    assert [value for _, value, *_ in read] == list(range(VALUES))
    file.close()  # type: ignore[no-untyped-call]


def test_the_error_for_a_full_disk_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = MetricsFile(str(tmp_path / "counter_1.db"))
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(click.ClickException, match=r"No space left on device\): free some"):
        MetricsFile(str(tmp_path / "counter_2.db"))
    with pytest.raises(click.ClickException, match=r"counter_1\.db"):
        fill(file)
    file.close()  # type: ignore[no-untyped-call]
