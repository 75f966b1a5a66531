"""`contentlog export` writes a complete file or none, and prints notes."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import openpyxl
import pytest
from click.testing import CliRunner, Result

from deploy.cli import cli
from read_side.export import LIMIT
from tests.integration.bulk_rows import fill
from tests.integration.live_projector import project_all
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

Export = Callable[..., Result]
HEADINGS = "ID,Title,Slug,Status,Content type,Created,Updated,Published,Body"


async def magazine(url: str) -> None:
    async with open_recorder(url) as recorder:
        builder = ContentBuilder(Repository(recorder, EventMapper()))
        await builder.magazine()
        await builder.entry("one", status="published", fields=raws(body="ÜÄ"))
        await builder.entry("two")
        await builder.entry("deux", language="fr-FR")
    await project_all(url, url)


@pytest.fixture
def export(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Runs `contentlog export --workspace acme --type posts OPTIONS` in its own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTENTLOG_EVENT_STORE_URL", database_url)
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_URL", database_url)
    asyncio.run(magazine(database_url))

    def run(*options: str, workspace: str = "acme", kind: str = "posts") -> Result:
        arguments = ["--workspace", workspace, "--type", kind, *options]
        return CliRunner().invoke(cli, ["export", *arguments])

    return run


def column(path: Path, index: int) -> list[str]:
    """One column of a CSV file without quoted cells."""
    return [line.split(",")[index] for line in path.read_text("utf-8-sig").splitlines()[1:]]


def test_a_file_contains_what_the_options_select(export: Export, tmp_path: Path) -> None:
    file = tmp_path / "posts.csv"
    result = export("--output", "posts.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "2 entries exported to posts.csv\n"
    assert file.read_bytes().startswith(b"\xef\xbb\xbf" + HEADINGS.encode() + b"\r\n")
    assert column(file, 2) == ["two", "one"]
    assert column(file, 8) == ["", "ÜÄ"]
    export("--output", "posts.csv", "--status", "draft")
    assert column(file, 2) == ["two"]
    export("--output", "posts.csv", "--language", "fr-FR")
    assert column(file, 2) == ["deux"]
    result = export("--output", "posts.csv", "--language", "any")
    assert result.stdout == "3 entries exported to posts.csv\n"
    assert file.read_text("utf-8-sig").splitlines()[0] == f"{HEADINGS},Language"
    assert column(file, 2) == ["deux", "two", "one"]
    assert column(file, 9) == ["fr-FR", "en-US", "en-US"]
    export("--output", "posts.csv", "--language", "any", "--status", "published")
    assert column(file, 8) == ["ÜÄ"]
    assert file.read_text("utf-8-sig").splitlines()[0] == HEADINGS
    assert file.stat().st_mode & 0o777 == 0o666 & ~mask()
    result = export("--output", "POSTS.XLSX")
    assert result.stdout == "2 entries exported to POSTS.XLSX\n"
    sheet = openpyxl.load_workbook(tmp_path / "POSTS.XLSX").active
    assert sheet is not None
    assert [row[2].value for row in sheet.iter_rows()] == ["Slug", "two", "one"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["POSTS.XLSX", "posts.csv"]


def test_a_pipe_or_device_gets_the_file_and_is_not_replaced(export: Export, tmp_path: Path) -> None:
    """``--output /dev/null`` as root must leave /dev/null as it is."""
    export("--output", "posts.csv")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        done = export("--output", "pipe", "--format", "csv")
        assert done.stdout == "2 entries exported to pipe\n"
        assert (tmp_path / "pipe").is_fifo()
        assert os.read(reader, 65536) == (tmp_path / "posts.csv").read_bytes()
    finally:
        os.close(reader)


def test_the_target_of_a_link_is_replaced_and_not_the_link(export: Export, tmp_path: Path) -> None:
    (tmp_path / "latest.csv").symlink_to("posts.csv")
    for _ in range(2):  # the second replaces an existing file
        assert export("--output", "latest.csv").stdout == "2 entries exported to latest.csv\n"
        assert (tmp_path / "latest.csv").is_symlink()
        assert column(tmp_path / "posts.csv", 2) == ["two", "one"]


def test_standard_output_gets_the_file_and_nothing_else(export: Export, tmp_path: Path) -> None:
    export("--output", "posts.csv")
    done = export("--output", "-")
    assert done.stdout_bytes == (tmp_path / "posts.csv").read_bytes()
    assert (done.exit_code, done.stderr) == (0, "note: 2 entries exported\n")
    sheet = export("--output", "-", "--format", "xlsx").stdout_bytes
    assert openpyxl.load_workbook(io.BytesIO(sheet)).sheetnames
    assert export("--output", "posts.txt", "--format", "csv").exit_code == 0
    assert (tmp_path / "posts.txt").read_bytes() == done.stdout_bytes
    refused = export("--output", "-", kind="nothing")
    assert (refused.exit_code, refused.stdout_bytes) == (1, b"")


def test_a_language_without_entries_is_mentioned_with_those_in_use(export: Export) -> None:
    done = export("--output", "posts.csv", "--language", "fr")
    assert (done.exit_code, done.stdout) == (0, "0 entries exported to posts.csv\n")
    assert done.stderr == (
        "note: no entries in language 'fr' match; languages in use: en-US, fr-FR\n"
    )
    done = export("--output", "posts.csv", "--status", "archived")
    assert "no entries with status 'archived' in language 'en-US' match" in done.stderr


def mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_exported_file_is_imported_without_a_change(export: Export) -> None:
    for name, language, entries in (
        ("posts.csv", "en-US", 2),
        ("posts.xlsx", "en-US", 2),
        ("posts.csv", "any", 3),
        ("posts.xlsx", "any", 3),
    ):
        export("--output", name, "--language", language)
        arguments = ["import", name, "--workspace", "acme", "--type", "posts", "--update", "--json"]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
        counts = msgspec.json.decode(result.stdout)["counts"]
        assert counts == {"new": 0, "update": 0, "unchanged": entries, "skipped": 0, "error": 0}


def test_invalid_requests_are_refused_in_one_line_and_keep_the_file(
    export: Export, tmp_path: Path
) -> None:
    file = tmp_path / "old.xlsx"
    file.write_text("as it was")
    refusals: list[tuple[dict[str, Any], list[str], str]] = [
        ({"workspace": "nobody"}, [], "there is no workspace 'nobody'"),
        ({"kind": "nothing"}, [], "workspace 'acme' has no content type 'nothing' in production"),
        ({}, ["--environment", "staging"], "this team has no staging environment yet"),
    ]
    for named, options, reason in refusals:
        result = export(*options, "--output", "old.xlsx", **named)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"contentlog: {reason}")
        assert result.stderr.count("\n") == 1
    result = export("--output", "missing/posts.csv")
    assert (result.exit_code, result.stderr) == (
        1,
        "contentlog: cannot write 'missing/posts.csv': No such file or directory\n",
    )
    for name in ("posts.txt", "posts", "."):
        assert export("--output", name).exit_code == 2
    for name, form in (("old.xlsx", "csv"), ("new.CSV", "xlsx")):
        result = export("--output", name, "--format", form)
        assert result.exit_code == 2
        assert f"{name!r} contradicts --format {form}: " in result.stderr
    assert export("--output", "old.xlsx", "--format", "xlsx", workspace="nobody").exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old.xlsx"]
    assert file.read_text() == "as it was"


async def one_more(url: str) -> None:
    """Add an entry to the log that is not in the read model yet."""
    async with open_recorder(url) as recorder:
        await ContentBuilder(Repository(recorder, EventMapper())).entry("three")


@pytest.mark.slow
def test_entries_that_are_not_exported_are_reported(
    export: Export, database_url: str, tmp_path: Path
) -> None:
    asyncio.run(fill(database_url, LIMIT + 1))
    result = export("--output", "posts.csv")
    assert result.stdout == "5,000 entries exported to posts.csv\n"
    assert result.stderr == "note: 5,003 entries match; only the newest 5,000 were exported\n"
    assert len(column(tmp_path / "posts.csv", 2)) == LIMIT
    asyncio.run(one_more(database_url))
    result = export("--output", "posts.csv", "--status", "draft")
    assert (result.exit_code, result.stdout) == (0, "1 entry exported to posts.csv\n")
    assert "the read model is behind the log" in result.stderr
