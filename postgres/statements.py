"""SQL statements by name: each is a file of a package's ``sql`` folder, and its first line lists its
parameters: ``-- $1 workspace, $2 type_slug``.

Statements share text as psql scripts do: a line ``\\ir FILE`` stands for that file, relative to the
file it is in. Shared files are in folders inside of ``sql``. They name a parameter ``:workspace``,
which is numbered as in the first line of the statement.

This reads files of the installed package, at import and once: no other input is part of a statement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable

_INCLUDE = re.compile(r"^\\ir (\S+)$", re.MULTILINE)
_PARAMETER = re.compile(r"\$(\d+) (\w+)")
_NAME = re.compile(r"(?<!:):([a-z]\w*)")


def statements(package: str) -> Mapping[str, str]:
    """The statements of a package, by the names of their files."""
    folder = resources.files(package) / "sql"
    return {
        file.name.removesuffix(".sql"): _numbered(_included(folder, file))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }


def _included(folder: Traversable, file: Traversable) -> str:
    """The text of a file in the folder, and of the files that it includes."""

    def text_of(line: re.Match[str]) -> str:
        included = folder.joinpath(*line[1].split("/"))
        return _included(folder.joinpath(*line[1].split("/")[:-1]), included).rstrip("\n")

    return _INCLUDE.sub(text_of, file.read_text("utf-8"))


def _numbered(statement: str) -> str:
    """Raises KeyError for a name that is not in the first line."""
    parameters, body = statement.split("\n", 1)
    numbers = {name: number for number, name in _PARAMETER.findall(parameters)}
    return f"{parameters}\n" + _NAME.sub(lambda name: f"${numbers[name[1]]}", body)
