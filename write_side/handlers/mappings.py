"""Column mappings of imports: save the one to propose for a content type."""

from __future__ import annotations

from write_side.commands import SaveImportMapping
from write_side.decision import Decision, scoped_header
from write_side.domain.events import ImportMappingSaved
from write_side.domain.identity import import_mapping_stream
from write_side.domain.text import check_text
from write_side.repository import Repository
from write_side.store.mapper import StreamEvent


async def save_import_mapping(command: SaveImportMapping, repository: Repository) -> Decision:
    """Changes nothing if the saved mapping is the same."""
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    for column in command.columns:
        check_text(column.heading, "A heading")
        check_text(column.target, "What a column is mapped to")
    version, saved = await repository.import_mapping(content_type.id)
    if saved is not None and saved.columns == command.columns:
        return Decision(content_type=content_type)
    event = ImportMappingSaved(
        **scoped_header(command, command.scope, saved.at if saved else None),
        content_type_id=content_type.id,
        columns=command.columns,
    )
    return Decision(
        events=[StreamEvent(import_mapping_stream(content_type.id), version + 1, event)],
        content_type=content_type,
    )
