"""Content types as GraphQL shows them, and the small types that others are made of."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, TypeAlias

import strawberry

from api.graphql.spending import listed

Info: TypeAlias = strawberry.Info[Any, None]


@strawberry.enum
class EntryStatus(Enum):
    """Any may follow any other; publishing demands the required fields."""

    draft = "draft"
    published = "published"
    archived = "archived"


@strawberry.type
class Stage:
    """A stage of a content type's workflow."""

    id: strawberry.ID
    name: str


@strawberry.type
class Pagination:
    """The limit and offset that were applied, and how many entries match in all."""

    limit: int
    offset: int
    total: int


@strawberry.type
class Field:
    """A field of a content type. Sections only lay out the editor; no entry has a value in one."""

    slug: str
    name: str
    type: str
    required: bool
    multiple: bool
    all_options: strawberry.Private[Sequence[str]]
    all_to: strawberry.Private[Sequence[str]]

    @strawberry.field
    def options(self, info: Info) -> list[str]:
        return listed(info, self.all_options)

    @strawberry.field
    def to(self, info: Info) -> list[str]:
        return listed(info, self.all_to)


@strawberry.type
class ContentType:
    """Without a workflow it has no stages."""

    id: strawberry.ID
    name: str
    slug: str
    all_fields: strawberry.Private[list[Field]]
    all_stages: strawberry.Private[list[Stage]]

    @strawberry.field
    def fields(self, info: Info) -> list[Field]:
        return listed(info, self.all_fields)

    @strawberry.field
    def stages(self, info: Info) -> list[Stage]:
        return listed(info, self.all_stages)


class _Option(Protocol):
    @property
    def value(self) -> str: ...


class _Stage(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


class _Field(Protocol):
    @property
    def slug(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def required(self) -> bool: ...
    @property
    def multiple(self) -> bool: ...
    @property
    def options(self) -> Sequence[_Option]: ...
    @property
    def to(self) -> Sequence[str]: ...


class Definition(Protocol):
    """A content type, as the read model has it or as the log tells it."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def slug(self) -> str: ...
    @property
    def fields(self) -> Sequence[_Field]: ...
    @property
    def stages(self) -> Sequence[_Stage]: ...


def shown_type(definition: Definition) -> ContentType:
    return ContentType(
        id=strawberry.ID(definition.id),
        name=definition.name,
        slug=definition.slug,
        all_fields=[_shown_field(field) for field in definition.fields],
        all_stages=[Stage(id=strawberry.ID(s.id), name=s.name) for s in definition.stages],
    )


def _shown_field(field: _Field) -> Field:
    return Field(
        slug=field.slug,
        name=field.name,
        type=field.type,
        required=field.required,
        multiple=field.multiple,
        all_options=[option.value for option in field.options],
        all_to=field.to,
    )
