"""The rows of ``entry`` are read with everything that the fold needs."""

from __future__ import annotations

import re

import msgspec
import pytest

from write_side.domain.entry import Entry
from write_side.postgres.statements import statement


@pytest.mark.parametrize("name", ["load_entries", "next_entries", "next_unread"])
def test_a_statement_reads_every_property_of_an_entry(name: str) -> None:
    """A property that is not read would have its default, regardless of the row."""
    read = set(re.findall(r"\be\.(\w+)", statement("projector", name)))
    properties = {field.name for field in msgspec.structs.fields(Entry)} - {"deleted"}
    assert properties - read == set(), f"projector/sql/{name}.sql does not read these columns"
