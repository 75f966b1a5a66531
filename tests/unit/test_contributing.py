"""The field type described in contributing.md works as written."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from msgspec import Raw

from tests import spreadsheets
from tests.unit import test_field_types
from tests.unit.domain import test_values
from write_side.domain import cells, field_types, values
from write_side.domain.definition import Field
from write_side.domain.field_types import FIELD_TYPES
from write_side.domain.refusals import InvalidField

GUIDE = Path(__file__).parents[2] / "deploy/docs/contributing.md"
_SECTION = re.compile(r"^## Add a field type$(.*?)^## ", re.M | re.S)
_PYTHON = re.compile(r"^ *```python\n(.*?)^ *```$", re.M | re.S)


def test_the_field_type_of_the_guide_works(monkeypatch: pytest.MonkeyPatch) -> None:
    [section] = _SECTION.findall(GUIDE.read_text("utf-8"))
    row, check, reader, sample, good, bad, generated = map(dedent, _PYTHON.findall(section))
    for module, code in ((values, check), (cells, reader)):
        for name, made in run(code, module).items():
            monkeypatch.setattr(module, name, made, raising=False)
    [(type_name, spec)] = entry(row, field_types).items()
    monkeypatch.setitem(FIELD_TYPES, type_name, spec)

    field, value, misfit, shown = run(sample, test_field_types)["SAMPLES"][-1]
    assert shown in value
    check_values(field, [value], [misfit])
    cell = cells.cell_of(field, Raw(value.encode()), {})
    assert bytes(cells.value_of(field, f" {cell} ")) == value.encode()

    [(field, valid)] = entry(good, test_values).values()
    [(_, takes, invalid)] = entry(bad, test_values).values()
    assert takes == spec.takes
    check_values(field, valid, invalid)
    [(field, _)] = entry(generated, spreadsheets).values()
    assert field.spec is spec


def run(code: str, module: Any) -> dict[str, Any]:
    """Returns the names that the code would bind in the module, without changing the module."""
    before = vars(module)
    after = dict(before)
    exec(code, after)  # noqa: S102 - our own document
    return {name: after[name] for name in after if after[name] is not before.get(name)}


def entry(code: str, module: Any) -> dict[Any, Any]:
    """Evaluates the code as an entry of a dictionary."""
    made: dict[Any, Any] = run(f"made = {{\n{indent(code, '    ')}}}", module)["made"]
    return made


def check_values(field: Field, valid: list[str], invalid: list[str]) -> None:
    for value in valid:
        assert bytes(values.checked_value(field, Raw(value.encode()), "f")) == value.encode()
    for value in invalid:
        with pytest.raises(InvalidField):
            values.checked_value(field, Raw(value.encode()), "f")
