"""Several statements are combined into one."""

from __future__ import annotations

import re

from projector.write_transaction import combined
from write_side.postgres.statements import statement

NUMBERED = """
WITH end_rendering AS (
DELETE FROM rendering WHERE workspace = $1 AND content_type_id = $2
), drop_media AS (
DELETE FROM media WHERE workspace = $3 AND id = $4
)
UPDATE indexing SET position = $7 WHERE workspace = $5 AND content_type_id = $6
"""


def test_parameters_are_numbered_on() -> None:
    assert combined(("end_rendering", "drop_media", "move_indexing")) == NUMBERED.lstrip()


def test_a_parameter_of_two_digits_is_one_number() -> None:
    names = ("put_changes", "put_changes")
    numbers = [int(number) for number in re.findall(r"\$(\d+)", combined(names))]
    assert numbers == list(range(1, 31))


def test_a_single_statement_is_unchanged() -> None:
    assert combined(("drop_media",)) in statement("projector", "drop_media")
