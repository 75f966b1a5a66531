"""The bodies of the content type endpoints.

They are separate from the domain's Structs, which omit defaults and refuse unknown keys: in
OpenAPI, most properties would be optional, and none could be added later.
"""

from __future__ import annotations

import msgspec

from api.rest.wire import Wire, timestamp
from read_side.content_types import ContentTypeRow
from write_side.domain.field_types import FieldType


class Option(Wire, frozen=True):
    value: str
    label: str


class TypeField(Wire, frozen=True):
    """A field, with every property for every type. A section only lays out the editor: it is
    listed here and never holds a value."""

    slug: str
    name: str
    type: FieldType
    required: bool
    multiple: bool
    range: bool
    options: list[Option]
    to: list[str]
    fields: list[TypeField]


class WorkflowStage(Wire, frozen=True):
    id: str
    name: str


class Workflow(Wire, frozen=True):
    stages: list[WorkflowStage]


class ContentType(Wire, frozen=True):
    id: str
    name: str
    slug: str
    workflow: Workflow | None
    fields: list[TypeField]
    created_at: str
    updated_at: str


class ContentTypesBody(Wire, frozen=True):
    success: bool
    data: list[ContentType]


class ContentTypeBody(Wire, frozen=True):
    success: bool
    data: ContentType


def shown(row: ContentTypeRow) -> ContentType:
    stages = [WorkflowStage(stage.id, stage.name) for stage in row.stages]
    return ContentType(
        id=row.id,
        name=row.name,
        slug=row.slug,
        workflow=Workflow(stages) if stages else None,
        fields=msgspec.convert(row.fields, list[TypeField], from_attributes=True),
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
    )
