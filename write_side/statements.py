"""SQL statements by name: each is a file, its parameters listed on the first line."""

from __future__ import annotations

from importlib import resources

STATEMENTS = {
    file.name.removesuffix(".sql"): file.read_text("utf-8")
    for file in (resources.files("write_side") / "sql").iterdir()
}
