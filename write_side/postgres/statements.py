"""SQL statements by name: each is a file in the ``sql`` folder of a package, and its first line
lists its parameters: ``-- $1 workspace, $2 type_slug``.

Statements share text as psql scripts do: a line ``\\ir FILE`` stands for the text of a file, whose
path is relative to the file with the line. Shared files are in folders within ``sql``; they write a
parameter as ``:workspace``, and each statement numbers it as in its own first line.

Statements are built only from packaged files, when a module is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

_INCLUDE = re.compile(r"^\\ir (.+/)?(.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"\$(\d+) (\w+)")
_NAMED = re.compile(r"(?<!:):([a-z]\w*)")


def statement(package: str, name: str) -> str:
    return statements(package)[name]


@cache
def statements(package: str) -> Mapping[str, str]:
    """All statements of a package, by the names of their files."""
    folder = resources.files(package) / "sql"
    return {
        file.name.removesuffix(".sql"): _numbered(_expanded(folder, file.name))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }


def _expanded(folder: Traversable, name: str) -> str:
    """The text of a file with the files that it includes."""

    def included(line: re.Match[str]) -> str:
        return _expanded(folder / line[1] if line[1] else folder, line[2]).rstrip("\n")

    return _INCLUDE.sub(included, (folder / name).read_text("utf-8"))


def _numbered(statement: str) -> str:
    """Raises KeyError for a name that the first line does not list."""
    first, body = statement.split("\n", 1)
    numbers = {name: number for number, name in _NUMBERED.findall(first)}
    return first + "\n" + _NAMED.sub(lambda named: f"${numbers[named[1]]}", body)
