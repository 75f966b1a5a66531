"""SQL statements are loaded from the files of a package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from write_side.postgres.statements import statement, statements

Package = Callable[[dict[str, str]], str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Creates a package with these files in its ``sql`` folder."""

    def made(files: dict[str, str]) -> str:
        (tmp_path / "of_a_test").mkdir()
        (tmp_path / "of_a_test" / "__init__.py").touch()
        for name, text in files.items():
            path = tmp_path / "of_a_test" / "sql" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return "of_a_test"

    monkeypatch.syspath_prepend(str(tmp_path))
    yield made
    statements.cache_clear()
    sys.modules.pop("of_a_test", None)


def test_a_statement_is_the_text_of_its_file(package: Package) -> None:
    of = package({"one.sql": "-- no parameters\nSELECT 1\n"})
    assert statement(of, "one") == "-- no parameters\nSELECT 1\n"


def test_included_files_are_relative_to_the_file_that_includes_them(package: Package) -> None:
    of = package(
        {
            "one.sql": "-- no parameters\nSELECT\n\\ir rows/columns.sql\nFROM a\n",
            "rows/columns.sql": "b,\n\\ir more.sql\n",
            "rows/more.sql": "c\n",
        }
    )
    assert statements(of) == {"one": "-- no parameters\nSELECT\nb,\nc\nFROM a\n"}


def test_named_parameters_are_numbered_as_in_the_first_line(package: Package) -> None:
    of = package(
        {
            "one.sql": "-- $1 id, $2 locale\n\\ir rows/a.sql\n",
            "two.sql": "-- $1 locale, $2 id\n\\ir rows/a.sql\n",
            "rows/a.sql": "SELECT :id::text, :locale\n",
        }
    )
    assert statement(of, "one").endswith("\nSELECT $1::text, $2\n")
    assert statement(of, "two").endswith("\nSELECT $2::text, $1\n")


def test_a_name_that_the_first_line_lacks_is_an_error(package: Package) -> None:
    of = package({"one.sql": "-- $1 id\nSELECT :slug\n"})
    with pytest.raises(KeyError, match="slug"):
        statements(of)
