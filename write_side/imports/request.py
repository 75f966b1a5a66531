"""What an import is asked to do with a file: where its rows go, and how."""

from __future__ import annotations

from msgspec import Struct

from write_side.domain.identity import BASE_LANGUAGE, Scope, derived_id


class ImportRequest(Struct, frozen=True):
    """``targets``: what each column is mapped to. An import id takes effect once.

    ``update``: rows whose slug exists change that entry. ``ready_only``: where rows have errors,
    the others are imported.
    """

    scope: Scope
    content_type_slug: str
    import_id: str
    targets: tuple[str, ...] = ()
    language: str = BASE_LANGUAGE
    update: bool = False
    ready_only: bool = False

    def entry_id(self, slug: str) -> str:
        """The same id for the same row of the same import."""
        return derived_id(self.import_id, slug)
