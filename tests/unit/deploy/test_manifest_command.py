"""`contentlog manifest schema` and `check` need no database."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from deploy.cli import cli
from tests.manifest_schema import FILE

VALID = """
workspace: acme
name: Acme
contentTypes:
  - slug: posts
    name: Posts
    fields: [{slug: by, name: By, type: reference, to: [posts, autors]}]
  - {slug: authors, name: Authors}
"""
NOTE = (
    "acme.yaml:7:64: contentTypes[0].fields[0].to[1]: no content type 'autors' in the manifest; "
    "apply expects it in the workspace; did you mean 'authors'?"
)


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # With this URL, creating a database or connecting to one would fail.
    monkeypatch.setenv("CONTENTLOG_EVENT_STORE_URL", "postgresql://nowhere.invalid/x")
    return tmp_path / "acme.yaml"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["manifest", *arguments])


def test_the_schema_is_that_of_the_documentation() -> None:
    is_same = run("schema").stdout_bytes == FILE.read_bytes()
    assert is_same, "run: .venv/bin/python -m tests.manifest_schema"


def test_a_valid_manifest_is_reported_as_valid(check: Path) -> None:
    check.write_text(VALID)
    done = run("check", "acme.yaml")
    assert (done.exit_code, done.stdout) == (0, "acme.yaml is a valid manifest\n")
    assert done.stderr == f"note: {NOTE}\n"
    (note,) = msgspec.json.decode(run("check", "acme.yaml", "--json").stdout)["notes"]
    assert (note["line"], note["column"], note["suggestion"]) == (7, 64, "authors")


def test_a_webhook_for_a_content_type_that_is_not_there_is_noted(check: Path) -> None:
    webhook = '{name: cdn, url: "https://cdn.example.com/", types: [posts, author]}'
    check.write_text(f"{VALID.replace(', autors', '')}webhooks:\n  - {webhook}\n")
    done = run("check", "acme.yaml")
    assert (done.exit_code, done.stderr) == (
        0,
        "note: acme.yaml:10:65: webhooks[0].types[1]: no content type 'author' in the manifest; "
        "nothing is delivered unless the workspace has it; did you mean 'authors'?\n",
    )


def test_an_invalid_manifest_ends_with_status_1(check: Path) -> None:
    check.write_text("workspace: acme\nname: 3\nplan: {entires: 3}\n")
    done = run("check", "acme.yaml")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "contentlog: acme.yaml has 2 errors:",
        "acme.yaml:2:7: name: '3' is a number; expected text: write it in quotes",
        "acme.yaml:3:8: plan.entires: unknown key 'entires'; expected entries, contentTypes, "
        "requestsPerMinute or staging; did you mean 'entries'?",
    ]
    done = run("check", "acme.yaml", "--json")
    assert done.exit_code == 1
    assert done.stderr == "contentlog: acme.yaml is not a valid manifest\n"
    result = msgspec.json.decode(done.stdout)
    assert [(one["path"], one["line"], one["value"]) for one in result["errors"]] == [
        ("name", 2, "3"),
        ("plan.entires", 3, "entires"),
    ]


def test_a_single_error_is_one_line(check: Path) -> None:
    check.write_text("workspace: acme")
    done = run("check", "acme.yaml")
    assert done.stderr == "contentlog: acme.yaml:1:1: the key 'name' is missing\n"
    assert run("check", "nowhere.yaml").stderr == (
        "contentlog: nowhere.yaml: cannot be read: No such file or directory\n"
    )
