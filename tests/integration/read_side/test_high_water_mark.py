"""The number that the processes of a machine share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from read_side import high_water_mark as module
from read_side.high_water_mark import HighWaterMark, open_high_water_mark

RAISE = """
import sys
from pathlib import Path
from read_side.high_water_mark import HighWaterMark
mark = HighWaterMark(Path(sys.argv[1]))
for stamp in range(int(sys.argv[2]), 40_000, 4):
    mark.raise_to(stamp)
"""
URL = "postgresql://contentlog:secret@localhost:5432/content"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "gettempdir", lambda: str(tmp_path))
    return tmp_path / f"contentlog-{os.geteuid()}"


def test_processes_that_raise_it_at_once_never_lower_it(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    mark = HighWaterMark(path)
    raising = [
        subprocess.Popen([sys.executable, "-c", RAISE, path, str(n)], cwd=Path.cwd())
        for n in range(4)
    ]
    last = 0
    while any(process.poll() is None for process in raising):
        last, before = mark.stamp, last
        assert last >= before
    assert {process.wait() for process in raising} == {0}
    assert mark.stamp == 39_999


def test_the_mark_is_lowered_only_from_the_known_value(tmp_path: Path) -> None:
    one, other = HighWaterMark(tmp_path / "mark"), HighWaterMark(tmp_path / "mark")
    one.raise_to(9)
    other.lower(8, 3)
    assert one.stamp == 9
    other.lower(9, 3)
    assert one.stamp == 3


def test_processes_with_one_url_share_it_regardless_of_the_password(folder: Path) -> None:
    with (
        open_high_water_mark(URL) as one,
        open_high_water_mark(URL.replace("secret", "other")) as other,
    ):
        one.raise_to(5)
        assert other.stamp == 5
    with open_high_water_mark(URL) as later, open_high_water_mark(f"{URL}_2") as another:
        assert (later.stamp, another.stamp) == (5, 0)
    with (
        open_high_water_mark("postgresql:///a?password=x&user=y") as one,
        open_high_water_mark("postgresql:///a?user=y") as other,
    ):
        one.raise_to(7)
        assert other.stamp == 7
    assert len(list(folder.iterdir())) == 3


def test_a_file_that_was_removed_is_made_again(folder: Path) -> None:
    with open_high_water_mark(URL) as one:
        one.raise_to(5)
        assert one.is_in_place()
        [file] = folder.iterdir()
        file.unlink()
        with open_high_water_mark(URL) as other:
            other.raise_to(3)
            assert not one.is_in_place()
            assert other.stamp == 5
            assert one.is_in_place()


@pytest.mark.parametrize("fault", ["not a folder", "others may read it", "a link"])
def test_without_a_folder_of_its_own_it_is_not_shared(
    fault: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if fault == "not a folder":
        folder.write_text("")
    elif fault == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        folder.chmod(0o755)
    with open_high_water_mark(URL) as mark:
        assert not mark.is_shared
        mark.raise_to(5)
        assert mark.stamp == 5
        assert mark.is_in_place()
    [line] = capsys.readouterr().out.splitlines()
    assert "responses are not kept in memory" in line
    assert "secret" not in line


def test_files_that_no_process_uses_are_removed(folder: Path) -> None:
    with open_high_water_mark(URL):
        pass
    [file] = folder.iterdir()
    long_ago = time.time() - module.UNUSED - 60
    os.utime(file, (long_ago, long_ago))
    with open_high_water_mark(f"{URL}_2"):
        assert len(list(folder.iterdir())) == 1
