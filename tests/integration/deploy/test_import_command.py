"""`contentlog import`: its options and its output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from click.testing import CliRunner, Result

from deploy.cli import cli
from write_side.imports import preview
from write_side.store.conflicts import StoreUnavailable

MANIFEST = """
workspace: acme
name: Acme
contentTypes:
  - slug: posts
    name: Posts
    fields:
      - {slug: body, name: Body, type: text, required: true}
      - {slug: views, name: Views, type: number}
      - {slug: related, name: Related, type: reference, to: [posts], multiple: true}
"""
PLACE = ("--workspace", "acme", "--environment", "production", "--type", "posts")
GOOD = "Title,Body,Views\nOne,x,1\nTwo,y,2\n"
BAD = "Title,Body,Views,Related\nOne,x,many,\nTwo,y,2,one\n,z,3,gone\n"
PROBLEMS = [
    "row 2, Views: 'many' takes a number, such as 1234.5 or 1,234.5",
    "row 4, Title: is blank",
    "row 4, Related: 'gone' names no entry of type posts with the id or slug 'gone'",
]
RunCli = Callable[..., Result]


@pytest.fixture
def run_cli(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunCli:
    """Runs `contentlog ARGUMENTS` with the workspace acme set up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deploy.runner.UNATTENDED_TIMEOUT", 0.01)
    env = {"CONTENTLOG_EVENT_STORE_URL": database_url, "CONTENTLOG_READ_MODEL_URL": database_url}

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), env=env)

    (tmp_path / "acme.yaml").write_text(MANIFEST)
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "bad.csv").write_text(BAD)
    assert invoke("apply", "acme.yaml").exit_code == 0
    return invoke


def done(result: Result) -> list[str]:
    assert (result.exit_code, result.exception) == (0, None), result.output
    return result.stdout.splitlines()


def report(result: Result, status: int = 0) -> dict[str, Any]:
    assert result.exit_code == status, result.output
    body: dict[str, Any] = json.loads(result.stdout)
    return body


def refused(result: Result) -> str:
    assert result.exit_code == 1, result.output
    return result.stderr.removeprefix("contentlog: ").rstrip("\n")


def events(run_cli: RunCli) -> int:
    return len(done(run_cli("events")))


def test_problem_cells_are_named_to_people_and_to_scripts(run_cli: RunCli) -> None:
    before = events(run_cli)
    result = run_cli("import", "bad.csv", *PLACE)
    assert refused(result) == "nothing was imported: 2 rows have errors"
    assert result.stdout.splitlines() == PROBLEMS
    result = run_cli("import", "bad.csv", *PLACE, "--json")
    assert refused(result) == "nothing was imported: 2 rows have errors"
    body = report(result, 1)
    assert (body["imported"], body["position"]) == (False, 0)
    assert body["counts"] == {"new": 1, "update": 0, "unchanged": 0, "skipped": 0, "error": 2}
    assert [(row["row"], row["state"]) for row in body["rows"]] == [
        (2, "error"),
        (3, "new"),
        (4, "error"),
    ]
    assert body["rows"][0]["cells"] == [
        {
            "column": "Views",
            "severity": "error",
            "cell": "many",
            "reason": "takes a number, such as 1234.5 or 1,234.5",
        }
    ]
    dry = run_cli("import", "bad.csv", *PLACE, "--dry-run")
    assert refused(dry) == "nothing would be imported: 2 rows have errors"
    assert events(run_cli) == before


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    run_cli: RunCli, tmp_path: Path
) -> None:
    (tmp_path / "posts.csv").write_text("Title,Body,\x1b[31m\nOne,x,many\n")
    result = run_cli("import", "posts.csv", *PLACE, "--map", "3=Views")
    reason = "'many' takes a number, such as 1234.5 or 1,234.5"
    assert result.stdout.splitlines() == [rf"row 2, \x1b[31m: {reason}"]
    # XML, and so a workbook, can hold the 8-bit form of the same command.
    with xlsxwriter.Workbook(str(tmp_path / "posts.xlsx")) as book:
        book.add_worksheet("\x9b31m").write_row(0, 0, ["Title", "Body"])
    result = run_cli("import", "posts.xlsx", *PLACE, "--sheet", "Other")
    assert refused(result) == (r"posts.xlsx has no sheet 'Other'; expected one of: \x9b31m")


def test_problems_beyond_the_limit_are_counted(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "MOST_NOTES", 1)
    result = run_cli("import", "bad.csv", *PLACE)
    assert refused(result) == "nothing was imported: 2 rows have errors"
    assert result.stdout.splitlines() == [*PROBLEMS[:2], "and 1 more error"]
    body = report(run_cli("import", "bad.csv", *PLACE, "--json"), 1)
    assert body["omitted"] == {"errors": 1, "warnings": 0}
    assert [row.get("omitted") for row in body["rows"]] == [None, None, body["omitted"]]


def test_only_ready_rows_are_imported_if_requested(run_cli: RunCli) -> None:
    checked = run_cli("import", "bad.csv", *PLACE, "--dry-run", "--ready-only")
    dry = checked.stdout.splitlines()
    assert refused(checked).endswith("3 rows have errors, and no other row is ready")
    assert dry[1] == "row 3, Related: 'one' refers to the row with the slug 'one', which has errors"
    Path("bad.csv").write_text(BAD.replace("2,one", "2,"))
    result = done(run_cli("import", "bad.csv", *PLACE, "--ready-only", "--import-id", "i-1"))
    assert result == [
        *PROBLEMS,
        "1 entry imported, 2 left out because of errors; import id 'i-1'",
    ]


def test_an_import_prints_warnings_to_standard_error(run_cli: RunCli) -> None:
    done(run_cli("import", "good.csv", *PLACE, "--status", "published"))
    Path("good.csv").write_text("Title,Status,Body\nOne,Publishd,x\n")
    update = ("import", "good.csv", *PLACE, "--update", "--import-id", "i-1")
    warning = (
        "row 2, Status: 'Publishd' is not draft, published or archived: the published entry "
        "becomes a draft"
    )
    assert done(run_cli(*update, "--dry-run")) == [warning, "1 would be updated"]
    result = run_cli(*update)
    assert done(result) == ["1 updated; import id 'i-1'"]
    assert warning in result.stderr.splitlines()
    again = run_cli(*update)
    assert done(again) == ["import 'i-1' has already run: no changes"]
    assert warning not in again.stderr


def test_a_column_with_cells_needs_a_heading_or_a_choice(run_cli: RunCli) -> None:
    with xlsxwriter.Workbook("wide.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ("Title", "Body"))
        sheet.write_row(1, 0, ("One", "x", 7))
    Path("wide.csv").write_text("Title,Body,\nOne,x,7\n")
    for file in ("wide.xlsx", "wide.csv"):
        result = refused(run_cli("import", file, *PLACE))
        assert "cells without a heading are in column 3 (C: 1 cell)" in result
        left_out = run_cli("import", file, *PLACE, "--map", "3=", "--dry-run")
        assert done(left_out) == ["1 entry would be imported"]
    mapped = run_cli("import", "wide.csv", *PLACE, "--map", "3=views", "--json", "--dry-run")
    assert report(mapped)["counts"]["new"] == 1


@pytest.mark.slow
def test_json_lists_the_same_cells_regardless_of_the_outcome(run_cli: RunCli) -> None:
    Path("bad.csv").write_text(BAD.replace("2,one", "2,").replace(",z,", ",,"))
    all_rows = ("import", "bad.csv", *PLACE, "--import-id", "i-1", "--json")
    refused, ready = report(run_cli(*all_rows), 1), (*all_rows, "--ready-only")
    assert report(run_cli(*ready, "--dry-run"))["rows"] == refused["rows"]
    done = report(run_cli(*ready))
    assert done["rows"] == refused["rows"]
    warning = {"column": "Body", "severity": "warning", "cell": ""}
    assert any(warning.items() <= cell.items() for cell in done["rows"][2]["cells"])
    again = report(run_cli(*ready))
    assert set(again) == set(done) == set(refused)
    assert [(row["row"], row["state"]) for row in again["rows"]] == [
        (2, "error"),
        (3, "new"),
        (4, "error"),
    ]
    assert again["rows"][0]["cells"][0]["reason"] == (
        "Views takes a number, such as 1234.5 or 1,234.5"
    )


def test_an_import_updates_is_repeated_and_is_reverted(run_cli: RunCli) -> None:
    first = report(run_cli("import", "good.csv", *PLACE, "--import-id", "i-1", "--json"))
    assert (first["imported"], first["counts"]["new"], first["importId"]) == (True, 2, "i-1")
    assert [row["slug"] for row in first["rows"]] == ["one", "two"]
    again = report(run_cli("import", "good.csv", *PLACE, "--import-id", "i-1", "--json"))
    assert again == {**first, "replayed": True}
    assert first["by"].startswith("operator ")
    Path("good.csv").write_text(GOOD.replace("y,2", "y,3") + "Three,z,\n")
    update = (*PLACE, "--update", "--import-id", "i-2")
    dry = report(run_cli("import", "good.csv", *update, "--dry-run", "--json"))
    assert [row["state"] for row in dry["rows"]] == ["unchanged", "update", "new"]
    assert done(run_cli("import", "good.csv", *update, "--dry-run")) == [
        "1 entry would be imported, 1 would be updated, 1 unchanged"
    ]
    assert done(run_cli("import", "good.csv", *update)) == [
        "1 entry imported, 1 updated, 1 unchanged; import id 'i-2'"
    ]
    before = events(run_cli)
    assert done(run_cli("import", "--revert", "i-2")) == [
        "import 'i-2' was reverted: 1 deleted, 1 restored",
        "note: entries that the revert publishes again get its time as publishedAt",
        "note: references of other entries to the deleted ones are unchanged",
    ]
    assert events(run_cli) == before + 3
    assert (
        "import 'i-2' was already reverted by operator "
        in done(run_cli("import", "--revert", "i-2"))[0]
    )
    reverted = report(run_cli("import", "--revert", "i-1", "--json"))
    assert [each["slug"] for each in reverted["deleted"]] == ["one", "two"]
    assert len(first["at"]) == len(reverted["at"]) == len("2026-01-31T09:30:00.000Z")
    assert refused(run_cli("import", "--revert", "i-9")) == "there is no import 'i-9'"


@pytest.mark.slow
def test_a_repeated_import_id_is_reported_before_anything_else(run_cli: RunCli) -> None:
    again = ("import", "good.csv", *PLACE, "--import-id", "i-1")
    report(run_cli(*again, "--json"))
    before = "import 'i-1' has already run"
    assert done(run_cli(*again, "--dry-run")) == [f"{before}: no changes"]
    result = report(run_cli(*again, "--dry-run", "--json"))
    assert (result["imported"], result["replayed"], result["counts"]["new"]) == (True, True, 2)
    Path("acme.yaml").write_text(MANIFEST + "  - {slug: pages, name: Pages}\n")
    done(run_cli("apply", "acme.yaml"))
    other = (*again, "--type", "pages", "--map", "Body=", "--map", "Views=", "--dry-run")
    assert "i-1" in refused(run_cli(*other))
    done(run_cli("import", "--revert", "i-1"))
    [line] = done(run_cli(*again))
    assert line.startswith(f"{before} and was reverted by operator ")
    assert line.endswith(": no changes; to import the file again, use another --import-id")


def test_an_import_id_belongs_to_one_file(run_cli: RunCli) -> None:
    place = (*PLACE, "--import-id", "i-1")
    done(run_cli("import", "good.csv", *place))
    before = events(run_cli)
    Path("renamed.csv").write_text(GOOD)
    assert done(run_cli("import", "renamed.csv", *place)) == [
        "import 'i-1' has already run: no changes"
    ]
    Path("other.csv").write_text(GOOD.replace("Two", "Three"))
    was_used = (
        "the import id 'i-1' was used for another file, 'good.csv': "
        "import this one under another id"
    )
    assert refused(run_cli("import", "other.csv", *place)) == was_used
    assert refused(run_cli("import", "other.csv", *place, "--dry-run", "--json")) == was_used
    assert events(run_cli) == before


@pytest.mark.slow
def test_rows_that_repeat_a_slug_wait_for_a_choice(run_cli: RunCli) -> None:
    Path("airports.csv").write_text(
        "Code,Title,Body,Views\nSJO,San José,a,1\nSJC,San José,b,2\nSJC,San José,b,2\n"
    )
    file = ("import", "airports.csv", *PLACE, "--map", "Code=")
    needed = (
        "2 rows repeat the slug of an earlier row: choose with --repeats skip, update or suffix, "
        "or derive the slugs from another column with --key"
    )
    before = events(run_cli)
    result = run_cli(*file)
    assert refused(result) == f"nothing was imported: {needed}"
    assert result.stdout.splitlines() == [
        "row 3 repeats the slug of row 2: skipped",
        "row 4 repeats the slug of row 2: skipped",
    ]
    result = run_cli(*file, "--update", "--dry-run", "--json")
    assert refused(result) == f"nothing would be imported: {needed}"
    body = report(result, 1)
    assert (body["repeated"], [row["repeats"] for row in body["rows"]]) == (2, [None, 2, 2])
    assert events(run_cli) == before
    dry = (*file, "--dry-run", "--json")
    for choice, states, slugs in (
        (("--repeats", "skip"), ["new", "skipped", "skipped"], {"san-josé"}),
        (("--repeats", "update"), ["new", "update", "unchanged"], {"san-josé"}),
        (("--repeats", "suffix"), ["new", "new", "skipped"], {"san-josé", "san-josé-2"}),
        (("--key", "Code"), ["new", "new", "skipped"], {"sjo", "sjc"}),
    ):
        rows = report(run_cli(*dry, *choice))["rows"]
        assert ([row["state"] for row in rows], {row["slug"] for row in rows}) == (states, slugs)
    assert "the file has no column 'IATA'" in refused(run_cli(*file, "--key", "IATA"))
    assert done(run_cli(*file, "--repeats", "suffix", "--import-id", "i-1")) == [
        "row 3 repeats the slug of row 2: new, as 'san-josé-2'",
        "row 4 repeats the slug of row 3: skipped",
        "2 entries imported, 1 skipped because an earlier row has their slug; import id 'i-1'",
    ]


def test_identical_rows_need_no_choice(run_cli: RunCli) -> None:
    Path("twice.csv").write_text("Title,Body,Views\nOne,x,1\nOne,x,1\n")
    assert done(run_cli("import", "twice.csv", *PLACE, "--import-id", "i-1"))[-1] == (
        "1 entry imported, 1 skipped because an earlier row has their slug; import id 'i-1'"
    )


def test_notations_and_a_default_status_are_explicit_choices(run_cli: RunCli) -> None:
    Path("german.csv").write_text("Title;Body;Views\nEins;x;1.234,5\n")
    file = ("import", "german.csv", *PLACE)
    assert refused(run_cli(*file)) == "nothing was imported: 1 row has errors"
    done(run_cli(*file, "--decimal-comma", "--day-first", "--status", "published"))
    Path("plain.csv").write_text("Title,Status,Body,Views\nEins,published,x,1234.5\n")
    again = done(run_cli("import", "plain.csv", *PLACE, "--update"))
    assert again == ["nothing imported: 1 unchanged"]


def test_no_ready_row_is_a_failure_if_rows_have_errors(run_cli: RunCli) -> None:
    Path("one.csv").write_text("Title,Body,Views\nOne,x,many\n")
    ready = ("import", "one.csv", *PLACE, "--ready-only")
    result = run_cli(*ready)
    assert refused(result) == "nothing was imported: 1 row has errors, and no other row is ready"
    assert result.stdout.startswith("row 2, Views: 'many' takes a number")
    result = run_cli(*ready, "--dry-run", "--json")
    assert refused(result).startswith("nothing would be imported: 1 row has errors")
    assert report(result, 1)["counts"]["error"] == 1


@pytest.mark.slow
def test_a_detected_encoding_is_shown_and_a_guess_refused(run_cli: RunCli) -> None:
    titles = ("Привет, мир", "Москва", "Новости дня", "Как испечь хлеб")
    text = "Title,Body\n" + "".join(f'"{title}",x\n' for title in titles)
    Path("cyrillic.csv").write_bytes(text.encode("cp1251"))
    dry = ("import", "cyrillic.csv", *PLACE, "--dry-run")
    assert done(run_cli(*dry))[0] == (
        "detected encoding cp1251: 'Привет, мир', 'Москва', 'Новости дня', 'Как испечь хлеб'; "
        "if this is wrong, use --encoding"
    )
    result = report(run_cli(*dry, "--json"))["file"]
    assert (result["encoding"], result["encodingSource"]) == ("cp1251", "detected")
    assert result["nonAscii"] == list(titles)
    chosen = report(run_cli(*dry, "--json", "--encoding", "koi8-r"))["file"]
    assert (chosen["encodingSource"], chosen["nonAscii"][1]) == ("chosen", "лНЯЙБЮ")
    Path("short.csv").write_bytes("Title,Body\nnaïve café,x\n".encode("cp1252"))
    short = refused(run_cli("import", "short.csv", *PLACE))
    assert "could be Windows-1252, Western European (cp1252): 'naïve café,x'; Windows-" in short
    assert "(--encoding" in short


def test_an_invalid_environment_or_id_is_named(run_cli: RunCli) -> None:
    staging = ("import", "good.csv", *PLACE, "--environment", "staging")
    assert "staging" in refused(run_cli(*staging)).lower()
    wrong = "the import id contains half of a surrogate pair"
    assert refused(run_cli("import", "good.csv", *PLACE, "--import-id", "\udcff")).startswith(wrong)
    assert refused(run_cli("import", "--revert", "\udcff")).startswith(wrong)
    # A script whose variable is not set would import the file each time.
    empty = refused(run_cli("import", "good.csv", *PLACE, "--import-id", ""))
    assert empty.startswith("an import id has 1 to ")


def test_options_that_a_revert_ignores_are_refused(run_cli: RunCli) -> None:
    done(run_cli("import", "good.csv", *PLACE, "--import-id", "i-1"))
    before = events(run_cli)
    for beside in (["--dry-run"], ["--update"], ["--type", "posts"], ["--map", "A=b"], ["x.csv"]):
        result = run_cli("import", "--revert", "i-1", *beside)
        what = "FILE" if beside == ["x.csv"] else beside[0]
        assert (result.exit_code, f"--revert cannot be combined with {what}" in result.stderr) == (
            2,
            True,
        ), result.stderr
    revert = ("import", "--revert", "i-1")
    assert "no workspace 'none'" in refused(run_cli(*revert, "--workspace", "none"))
    elsewhere = refused(run_cli(*revert, "--environment", "staging"))
    assert elsewhere == "there is no import 'i-1'"
    assert events(run_cli) == before
    result = run_cli(*revert, "--workspace", "acme", "--environment", "production")
    assert done(result)[0] == "import 'i-1' was reverted: 2 deleted, 0 restored"


def test_columns_are_mapped_by_heading_or_number(run_cli: RunCli) -> None:
    Path("good.csv").write_text("Name,Text,Name,Views\nOne,x,no,1\n")
    place = ("import", "good.csv", *PLACE)
    message = refused(run_cli(*place))
    assert message.startswith("the columns cannot be imported as they are mapped: ")
    assert "no free target matches the headings 'Name', 'Text', 'Name'; targets are:" in message
    maps = ("--map", "1=Title", "--map", "Text=Body", "--map", "3=")
    dry = report(run_cli(*place, *maps, "--dry-run", "--json"))
    assert [(row["state"], row["slug"]) for row in dry["rows"]] == [("new", "one")]
    assert "give a number instead, one of 1, 3" in refused(run_cli(*place, "--map", "Name=Title"))
    assert "the file has no column '5'; it has: Name, Text" in refused(
        run_cli(*place, "--map", "5=Title")
    )
    assert "unknown target 'Price'; expected one of: Title, Slug, Status, Language, body" in (
        refused(run_cli(*place, "--map", "1=Price"))
    )
    lacking = refused(run_cli(*place, "--map", "1=slug", "--map", "2=", "--map", "3="))
    assert "no column is mapped to Title; no column is mapped to the required field 'Body'" in (
        lacking
    )
    assert "--map 'COLUMN=TARGET' maps a column" in lacking


@pytest.mark.slow
def test_workbooks_and_dialects_are_read(run_cli: RunCli) -> None:
    with xlsxwriter.Workbook("book.xlsx") as book:
        book.add_worksheet("Notes").write_row(0, 0, ["nothing"])
        sheet = book.add_worksheet("Posts")
        for n, row in enumerate((["Title", "Body", "Views"], ["One", "x", 1200.5])):
            sheet.write_row(n, 0, row)
    Path("latin.csv").write_bytes("Title;Body\nÉté;x\n".encode("cp1252"))
    dry = ("--dry-run", "--json")
    book_rows = report(run_cli("import", "book.xlsx", *PLACE, *dry, "--sheet", "Posts"))["rows"]
    assert [row["slug"] for row in book_rows] == ["one"]
    latin = ("--encoding", "cp1252", "--delimiter", "semicolon")
    rows = report(run_cli("import", "latin.csv", *PLACE, *dry, *latin))["rows"]
    assert [row["slug"] for row in rows] == ["été"]
    no_sheet = run_cli("import", "book.xlsx", *PLACE, "--sheet", "None", "--json")
    assert "book.xlsx" in refused(no_sheet)
    assert no_sheet.stdout == "", "a file that is refused as a whole has no report"


@pytest.mark.slow
def test_a_file_of_too_many_rows_is_split(run_cli: RunCli) -> None:
    rows = "".join(f"Row {n},x,{n},{'row-2001' if n == 1 else ''}\n" for n in range(1, 2002))
    Path("big.csv").write_text("Title,Body,Views,Related\n" + rows)
    big = ("import", "big.csv", *PLACE, "--import-id", "s-1")
    assert refused(run_cli(*big)) == (
        "big.csv has 2,001 rows; the limit is 2,000: split it into several files, "
        "or add --split to import it in parts"
    )
    result = run_cli(*big, "--split", "--json")
    body = report(result)
    assert (body["imported"], body["replayed"], body["counts"]["new"]) == (True, False, 2001)
    assert (len(body["parts"]), len(body["rows"])) == (3, 2001)
    assert result.stderr.splitlines()[:3] == [
        "import id 's-1'",
        "part 1 of 2: imported",
        "part 2 of 2: imported",
    ]
    again = run_cli(*big, "--split")
    assert done(again) == ["import 's-1' has already run: no changes"]
    assert again.stderr.splitlines()[1:3] == [
        "part 1 of 2: already imported",
        "part 2 of 2: already imported",
    ]
    assert "s-1" in refused(run_cli("import", "good.csv", *PLACE, "--import-id", "s-1"))
    other = ("--workspace", "acme", "--environment", "staging")
    assert refused(run_cli("import", "--revert", "s-1", *other)) == "there is no import 's-1'"
    assert done(run_cli("import", "--revert", "s-1"))[0] == (
        "import 's-1' was reverted: 2,001 deleted, 0 restored"
    )
    assert "was reverted" in refused(run_cli(*big, "--split"))


def test_an_import_in_parts_that_fails_says_how_to_continue(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run_split(*_: object) -> None:
        raise StoreUnavailable("The event store does not respond")

    with monkeypatch.context() as patch:
        patch.setattr("write_side.imports.split.run_split", run_split)
        failed = run_cli("import", "good.csv", *PLACE, "--split", "--import-id", "s-1")
    assert failed.exit_code == 1
    assert failed.stderr.splitlines()[1:] == [
        "note: to continue, run the same command with --import-id s-1",
        "contentlog: the event store does not respond",
    ]
    # A refusal has to be corrected first.
    bad = refused(run_cli("import", "bad.csv", *PLACE, "--split"))
    assert "to continue" not in bad


def test_wrong_usage_is_status_2(run_cli: RunCli) -> None:
    for arguments in (
        ("import",),
        ("import", "good.csv", "--workspace", "acme"),
        ("import", "good.csv", "--revert", "i-1"),
        ("import", "good.csv", *PLACE, "--map", "Title"),
        ("import", "good.csv", *PLACE, "--delimiter", "x"),
        ("import", "good.csv", *PLACE, "--sheet", "Data"),
    ):
        assert run_cli(*arguments).exit_code == 2, arguments
    assert "no workspace 'none'" in refused(
        run_cli("import", "good.csv", "--workspace", "none", "--type", "posts")
    )
    assert refused(run_cli("import", "good.csv", *PLACE, "--type", "songs")) == (
        "workspace 'acme' has no content type 'songs' in production"
    )
    assert refused(run_cli("import", "good.csv", *PLACE, "--language", "xx")) == (
        "unsupported language 'xx': use a code like en-US or fr-FR"
    )


def test_a_dry_run_of_a_split_import_refuses_what_the_import_would(run_cli: RunCli) -> None:
    split = (*PLACE, "--split", "--import-id", "spring")
    done(run_cli("import", "good.csv", *split))
    Path("other.csv").write_text("Title,Body\nThree,z\n")
    for options in ((), ("--dry-run",)):
        result = refused(run_cli("import", "other.csv", *split, *options))
        assert "'spring' was used for another file" in result
    done(run_cli("import", "other.csv", *PLACE, "--import-id", "plain"))
    plain = (*PLACE, "--split", "--import-id", "plain")
    for options in ((), ("--dry-run",)):
        result = refused(run_cli("import", "other.csv", *plain, *options))
        assert "'plain' was used for an import that was not split" in result
