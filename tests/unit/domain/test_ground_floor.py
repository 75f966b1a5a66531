"""The domain imports no other package of ours, so every package may import it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

DOMAIN = Path(__file__).parents[3] / "write_side" / "domain"
OURS = ("postgres", "write_side", "read_side", "projector", "api", "deploy")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield f"{node.module}.{node.names[0].name}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(DOMAIN.glob("*.py")), ids=lambda path: path.stem)
def test_the_domain_imports_only_the_domain(path: Path) -> None:
    ours = [name for name in imported(path) if name.split(".")[0] in OURS]
    assert [name for name in ours if not name.startswith("write_side.domain.")] == []
