"""Private members of libraries are not overridden or replaced unless an ADR says why."""

from __future__ import annotations

import ast
import dis
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("write_side", "read_side", "projector", "api", "deploy")
MADE_BY_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol"}
# Allowed exceptions: the member with its class or module, and the ADR that explains it.
OVERRIDDEN = {
    "api.export.xlsx_file._Sheet._escape_control_characters": "0023",
}
SWAPPED: dict[str, str] = {}


def overridden(kind: type) -> Iterator[str]:
    """Yields the private names that a class shares with bases outside our packages."""
    foreign = [base for base in kind.__mro__ if is_foreign(base)]
    theirs = set().union(*map(private_names, foreign))
    ours = [base for base in kind.__mro__ if not is_foreign(base)]
    for name in sorted(set().union(*map(private_names, ours)) & theirs):
        yield f"{kind.__module__}.{kind.__qualname__}.{name}"


def is_foreign(kind: type) -> bool:
    return kind.__module__.partition(".")[0] not in (*PACKAGES, "tests")


def private_names(kind: type) -> set[str]:
    """Returns the private names that the class defines or its methods assign as attributes."""
    names = set(vars(kind)) - MADE_BY_PYTHON
    for function in vars(kind).values():
        if inspect.isfunction(function):
            names |= {
                str(line.argval)
                for line in dis.get_instructions(function)
                if line.opname == "STORE_ATTR"
            }
    return {name for name in names if is_private(name)}


def is_private(name: str) -> bool:
    return re.fullmatch(r"_[^_].*[^_]|_[^_]", name) is not None


def swapped(tree: ast.AST) -> Iterator[str]:
    """Yields private members of other objects that are assigned or deleted."""
    for target in assigned(tree):
        if is_private(target.attr) and owner(target) not in ("self", "cls"):
            yield target.attr
    for call in ast.walk(tree):
        match call:
            case ast.Call(
                func=ast.Name(id="setattr" | "delattr"), args=[_, ast.Constant(value=str(name)), *_]
            ) if is_private(name):
                yield name


def assigned(tree: ast.AST) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node


def owner(target: ast.Attribute) -> str | None:
    return target.value.id if isinstance(target.value, ast.Name) else None


def classes() -> Iterator[type]:
    for package in map(import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for kind in vars(import_module(module.name)).values():
                if isinstance(kind, type) and kind.__module__ == module.name:
                    yield kind


@pytest.mark.slow
def test_no_class_overrides_a_private_member_of_a_library() -> None:
    found = {name for kind in classes() for name in overridden(kind)}
    assert not found - OVERRIDDEN.keys()


@pytest.mark.slow
def test_no_module_replaces_a_private_member() -> None:
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in swapped(ast.parse(file.read_text("utf-8")))
    }
    assert not found - SWAPPED.keys()


@pytest.mark.parametrize(("member", "adr"), (OVERRIDDEN | SWAPPED).items())
def test_allowed_exceptions_are_explained(member: str, adr: str) -> None:
    [text] = [file.read_text("utf-8") for file in (ROOT / "deploy/adr").glob(f"{adr}-*.md")]
    assert f"`{re.split('[.: ]', member)[-1]}`" in text, "the ADR names the member"


def test_violations_are_found() -> None:
    class Theirs:
        def _inner(self) -> int:
            return 1

        def __init__(self) -> None:
            self._held = 2

    Theirs.__module__ = "library"

    class Ours(Theirs):
        def __init__(self) -> None:
            self._held = self._own = 3

        def _inner(self) -> int:
            return 3

    assert [name.rpartition(".")[2] for name in overridden(Ours)] == ["_held", "_inner"]
    lines = "a._b = 1\nself._b = 2\na.b._c += 3\na.d = 4\nsetattr(a, '_e', 5)\ndel a._f"
    assert sorted(swapped(ast.parse(lines))) == ["_b", "_c", "_e", "_f"]
