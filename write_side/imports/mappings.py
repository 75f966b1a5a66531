"""How a file's columns are mapped: proposed from its headings, and saved for the next file."""

from __future__ import annotations

from collections.abc import Sequence

from write_side.commands import SaveImportMapping
from write_side.dispatch import execute
from write_side.domain.events import MappedColumn
from write_side.domain.identity import Actor, Scope
from write_side.imports.columns import Proposal, columns_of, proposed
from write_side.repository import Repository


async def propose(
    repository: Repository, scope: Scope, content_type_slug: str, headings: Sequence[str]
) -> Proposal:
    """Raises UnknownContentType."""
    content_type = await repository.fresh_content_type(scope, content_type_slug)
    _, saved = await repository.import_mapping(content_type.id)
    return proposed(headings, content_type.value_fields, saved.columns if saved else ())


async def save_mapping(
    repository: Repository,
    scope: Scope,
    content_type_slug: str,
    headings: Sequence[str],
    targets: Sequence[str],
    by: Actor,
) -> None:
    """Propose this from now on. Raises MappingRefused, UnknownContentType."""
    content_type = await repository.fresh_content_type(scope, content_type_slug)
    columns_of(headings, targets, content_type.value_fields)
    columns = tuple(map(MappedColumn, headings, targets))
    await execute(
        SaveImportMapping(
            actor=by, scope=scope, content_type_slug=content_type_slug, columns=columns
        ),
        repository,
    )
