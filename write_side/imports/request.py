"""The request of an import: the targets of its columns, and the options."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from write_side.domain.events import Status
from write_side.domain.identity import BASE_LANGUAGE, Actor, Scope, derived_id

Repeats = Literal["skip", "update", "suffix"]
"""What to do with a row that has the slug of an earlier row: skip it, update the entry of that row,
or add a suffix to the slug."""
REPEATS: tuple[Repeats, ...] = get_args(Repeats)
EntryKey: TypeAlias = tuple[str, str]
"""Language and slug, which no two entries of a content type share."""


class ImportRequest(Struct, frozen=True):
    """``targets``: of each column. An import id takes effect once. ``language``: of the rows
    without one.

    ``update``: rows whose slug exists change that entry. ``ready_only``: if rows have errors, the
    others are imported.

    ``repeats``: None until the user has chosen; nothing is imported then if rows differ. ``key``:
    the index of the column that slugs are derived from, instead of the title. ``status``: of rows
    without one. ``decimal_comma`` reads ``1.234,5``, and ``day_first`` 31.01.2026 and 31/01/2026,
    in fields of numbers and dates.
    """

    scope: Scope
    content_type_slug: str
    import_id: str
    targets: tuple[str, ...] = ()
    language: str = BASE_LANGUAGE
    update: bool = False
    ready_only: bool = False
    repeats: Repeats | None = None
    key: int | None = None
    status: Status = "draft"
    decimal_comma: bool = False
    day_first: bool = False

    def entry_id(self, key: EntryKey) -> str:
        """The same id for the same row of the same import."""
        return derived_id(self.import_id, *key)

    def actor(self, file_name: str) -> Actor:
        """The actor of the events of its entries."""
        return Actor("import", self.import_id, file_name)
