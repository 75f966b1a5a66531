"""The format of ids, and ids derived from other values."""

from __future__ import annotations

import pytest

from write_side.domain.identity import derived_id, is_id, new_id

IMPORT = "019a0000-0000-7000-8000-000000000001"
V4 = "9f1b4a3c-3f57-4c9e-8e3f-2a1b3c4d5e6f"


@pytest.mark.parametrize(
    ("origin", "parts", "expected"),
    [
        (IMPORT, ("fog-by-ear",), "019a0000-0000-7ab3-98f1-794987bde101"),
        ("spring", ("a", "b"), "00000000-0000-7880-afc3-2d9a430b515b"),
        (V4, ("a",), "00000000-0000-7bea-be94-11884db288df"),
    ],
)
def test_a_derived_id_never_changes(origin: str, parts: tuple[str, ...], expected: str) -> None:
    """A command repeated after an upgrade must refer to the same entries."""
    assert derived_id(origin, *parts) == expected
    assert is_id(expected)


def test_new_ids_sort_by_time() -> None:
    first, second = new_id(), new_id()
    assert is_id(first)
    assert first < second
