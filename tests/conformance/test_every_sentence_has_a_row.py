"""The tables are complete: every sentence and reading has a row, and every row has a sentence."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import tests.conformance
from tests.conformance.cases import Case
from tests.conformance.sentences import ELSEWHERE, numbered

# «4.1.5 limit of 0 is clamped», «4.1.4, 8.1 limit is 10 by default», or without a table
# «limits_2_and_4_each_answer_…».
_NUMBER = r"(?:\d[.\d]*|[a-z]+)\.\d+"
_CASE = re.compile(rf"{_NUMBER}(?:, {_NUMBER})* ")
_TEST = re.compile(r"test_(?P<chapter>\d[_\d]*|[a-z]+)_(?P<first>\d+)_(?:and_(?P<second>\d+)_)?")


def named_tests() -> Iterator[tuple[str, object]]:
    for found in pkgutil.iter_modules(tests.conformance.__path__):
        if found.name.startswith("test_") and not __name__.endswith(found.name):
            module = importlib.import_module(f"tests.conformance.{found.name}")
            yield from ((n, test) for n, test in vars(module).items() if n.startswith("test_"))


def cases_of(test: object) -> list[Case]:
    return [
        parameter.values[0]
        for mark in getattr(test, "pytestmark", [])
        if mark.name == "parametrize" and mark.args[0] == "case"
        for parameter in mark.args[1]
    ]


def numbers_of(name: str, test: object) -> Iterator[str]:
    """Yields the numbers of a table's rows, or those of a test without a table."""
    cases = cases_of(test)
    for match in (_CASE.match(case.name) for case in cases):
        assert match, f"{name} has a row without a number"
        yield from match[0].strip().split(", ")
    if not cases:
        match = _TEST.match(name)
        assert match, f"{name} has no number"
        chapter = match["chapter"].replace("_", ".")
        yield from (f"{chapter}.{n}" for n in match.groups()[1:] if n)


def rows() -> set[str]:
    return {number for name, test in named_tests() for number in numbers_of(name, test)}


def test_every_sentence_has_a_row_or_says_why_not() -> None:
    assert numbered().keys() - rows() == ELSEWHERE.keys()


def test_every_row_has_a_sentence() -> None:
    assert rows() <= numbered().keys()


def test_every_row_has_a_name_of_its_own() -> None:
    names = [case.name for _, test in named_tests() for case in cases_of(test)]
    assert sorted(set(names)) == sorted(names)
