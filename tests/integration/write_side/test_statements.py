"""Every SQL statement of the write side is found and fits the schema."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import write_side
from tests.integration.write_side.append_locks import connected
from write_side.postgres.statements import statements

_STATEMENT = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE|CALL|MERGE)\s", re.ASCII)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(write_side.__path__, "write_side."):
        yield importlib.import_module(found.name)


def _strings(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Name → text of the module's constants, including those in dictionaries and tuples."""
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        if isinstance(value, dict):
            items = [(f"{name}[{key}]", one) for key, one in value.items()]
        elif isinstance(value, tuple):
            items = [(f"{name}[{n}]", one) for n, one in enumerate(value)]
        else:
            items = [(name, value)]
        yield from ((f"{module.__name__}.{at}", one) for at, one in items if isinstance(one, str))


def _constants() -> dict[str, str]:
    """Name → statement: the modules' constants, and the statements in files."""
    found = {
        name: value
        for module in _modules()
        for name, value in _strings(module)
        if _STATEMENT.match(value)
    }
    return found | {f"sql/{name}": text for name, text in statements("write_side").items()}


async def test_every_statement_prepares_against_the_schema(database_url: str) -> None:
    found = _constants()
    assert {
        "write_side.store.appender._APPEND",
        "write_side.store.recorder._LOG",
        "write_side.repository._TYPE",
        "write_side.verification.claims._USAGE",
        "write_side.verification.claim_check._DELETE[key_claim]",
    } <= set(found)
    async with connected(database_url) as connection:
        for name, statement in found.items():
            try:
                await connection.prepare(statement)
            except Exception as error:
                error.add_note(f"in {name}")
                raise


@pytest.mark.slow
def test_no_statement_is_hidden_within_a_function() -> None:
    """The test above would not find it there."""
    hidden = [
        f"{module.__name__}:{text.lineno}"
        for module in _modules()
        for function in ast.walk(ast.parse(Path(module.__file__ or "").read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for text in ast.walk(function)
        if isinstance(text, ast.Constant)
        and isinstance(text.value, str)
        and _STATEMENT.match(text.value)
        and re.search(r"\b(FROM|INTO|SET|pg_\w+)\b", text.value)
    ]
    assert not hidden


async def test_every_read_of_the_log_has_an_order(database_url: str) -> None:
    """Rows are ordered by position or version, or there is at most one for a stream."""
    reads = {
        name: statement
        for name, statement in _constants().items()
        if name.startswith("write_side.store.recorder.") and "write_side.event" in statement
    }
    unordered = [
        name
        for name, statement in reads.items()
        if "ORDER BY notification_id" not in statement
        and "originator_version" not in statement.rpartition("ORDER BY")[2]
        and "SELECT max(" not in statement  # a single row
        and "WHERE notification_id = $1" not in statement
    ]
    assert len(reads) > 4
    assert unordered == []
