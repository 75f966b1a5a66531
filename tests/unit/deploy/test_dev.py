"""``deploy/dev``, with a program in place of Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PYTHON = """#!/bin/sh
echo "$@" >>calls
case "$*" in
"-m venv"*)
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    echo "VIRTUAL_ENV=\"$PWD/$3\"" >"$3/bin/activate"
    ;;
esac
"""


def calls(folder: Path, python: Path) -> str:
    """The calls of Python by the setup of a checkout."""
    (folder / "calls").write_text("")
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": str(python)}
    subprocess.run([folder / "deploy/dev", "setup"], check=True, env=environment)
    return (folder / "calls").read_text()


def test_a_copied_or_linked_environment_is_made_again(tmp_path: Path) -> None:
    one, copy, link = tmp_path / "one", tmp_path / "copy", tmp_path / "link"
    python = tmp_path / "python3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (one / "deploy").mkdir(parents=True)
    shutil.copy(ROOT / "deploy/dev", one / "deploy/dev")
    shutil.copytree(ROOT / "deploy/requirements", one / "deploy/requirements")
    shutil.copy(ROOT / "pyproject.toml", one)
    made = calls(one, python)
    assert "-m venv" in made
    assert made.count("pip install") == 2
    assert calls(one, python) == ""
    shutil.copytree(one, copy)
    assert "-m venv" in calls(copy, python)
    shutil.copytree(one, link, ignore=shutil.ignore_patterns(".venv"))
    (link / ".venv").symlink_to(one / ".venv")
    assert "-m venv" in calls(link, python)
    assert calls(one, python) == ""


def test_the_tools_of_a_linked_environment_are_left_alone(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    tools = target / ".venv/tools"
    tools.mkdir(parents=True)
    (tools / "installed").touch()
    (link / "deploy").mkdir(parents=True)
    shutil.copy(ROOT / "deploy/dev", link / "deploy/dev")
    shutil.copytree(ROOT / "deploy/requirements", link / "deploy/requirements")
    (link / ".venv").symlink_to(target / ".venv")
    python = tmp_path / "python3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": str(python)}
    subprocess.run([link / "deploy/dev", "audit"], check=False, env=environment)
    assert [path.name for path in tools.iterdir()] == ["installed"]
    assert (link / ".venv/tools/bin/python").exists()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [("--help", 0), ("check --help", 0), ("setup --help", 0), ("check all", 2), ("conjure", 2)],
)
def test_help_and_wrong_usage_run_nothing(tmp_path: Path, arguments: str, status: int) -> None:
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/dev", tmp_path / "deploy/dev")
    done = subprocess.run(
        [tmp_path / "deploy/dev", *arguments.split()],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHON": "/bin/false"},
    )
    printed = done.stderr if status else done.stdout
    assert (done.returncode, printed.partition("\n")[0]) == (status, "usage: deploy/dev COMMAND")
    assert [path.name for path in tmp_path.iterdir()] == ["deploy"]
