"""README and deploy/docs: every command runs as written, and every link has a target."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.documents import Command, File, Shell, contains, matches, steps
from tests.e2e.generators import generators
from tests.integration.deploy.processes import has_proc

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "deploy/docs").glob("*.md"))]
WITH_COMMANDS = [document for document in DOCUMENTS if steps(document)]
PACKAGES = ("api", "deploy", "projector", "read_side", "tests", "write_side")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_FILE = re.compile(r"`([\w/.-]+\.(?:py|sql|html))`")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.M)


@pytest.mark.slow
@has_proc
@pytest.mark.skipif(shutil.which("curl") is None, reason="the documents' commands use curl")
@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda path: path.name)
def test_commands_print_what_the_document_shows(
    document: Path, start: Any, data: Path, port: int
) -> None:
    dev = start()
    dev.ready()
    folder = data.parent / "reader"
    folder.mkdir()
    (folder / "deploy").symlink_to(ROOT / "deploy")
    (folder / ".venv").symlink_to(sys.prefix)
    environment = {**dev.environment, "HOME": str(folder), "COLUMNS": "120"}
    if document.name == "clients.md":
        installed = generators()
        (folder / "node_modules").symlink_to(installed.node_modules)
        environment["PATH"] = installed.environment["PATH"]
    shell = Shell(folder, environment, port)
    try:
        for step in steps(document):
            if isinstance(step, File):
                (folder / step.name).write_text(step.text, "utf-8")
            else:
                check(document, step, *shell.run(step.text))
    finally:
        shell.close()
    dev.stop(signal.SIGINT)


def check(document: Path, command: Command, status: int, stdout: str) -> None:
    where = f"{document.name}:{command.line}: {command.text}\n{stdout}"
    if command.body is not None:
        assert contains(command.body, json.loads(stdout[stdout.index("{") :])), where
    elif command.output is not None:
        assert matches(command.output, stdout), f"{where}\nshown:\n{command.output}"
    else:
        assert status == 0, where


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_are_in_blocks_that_run(document: Path) -> None:
    """Shell blocks would not be run. A ``text`` block is a template in which the reader replaces
    names."""
    assert not re.search(r"^ *```(sh|bash|shell)\b", document.read_text("utf-8"), re.M)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(document: Path) -> None:
    """A named file exists in the repository, or the document has the reader save it."""
    saved = {step.name for step in steps(document) if isinstance(step, File)}
    ours = [str(path) for folder in PACKAGES for path in (ROOT / folder).rglob("*.*")]
    for name in set(_FILE.findall(document.read_text("utf-8"))) - saved:
        assert any(path.endswith(f"/{name}") for path in ours), f"{document.name} names {name}"


@pytest.mark.parametrize(
    "document",
    [*DOCUMENTS, *sorted((ROOT / "deploy/adr").glob("*.md")), ROOT / "deploy/CHANGELOG.md"],
    ids=lambda path: path.name,
)
def test_links_have_targets(document: Path) -> None:
    for target, anchor in _LINK.findall(document.read_text("utf-8")):
        path = (document.parent / target) if target else document
        assert path.exists(), f"{document.name} links to {target}"
        if anchor:
            headings = {slug_of(each) for each in _HEADING.findall(path.read_text("utf-8"))}
            assert anchor in headings, f"{document.name} links to {target}#{anchor}"


def slug_of(heading: str) -> str:
    """The anchor that Markdown generates for a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", ""))
    return kept.replace(" ", "-")


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 200
