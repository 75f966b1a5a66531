"""SQL statements by name: each is a file, its parameters listed on the first line.

Their names are unqualified: the connection's search_path says which read model they write.
"""

from __future__ import annotations

from importlib import resources

STATEMENTS = {
    file.name.removesuffix(".sql"): file.read_text("utf-8")
    for file in (resources.files("projector") / "sql").iterdir()
    if file.name.endswith(".sql")
}


def statement(name: str) -> str:
    return STATEMENTS[name]
