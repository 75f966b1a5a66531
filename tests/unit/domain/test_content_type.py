"""The content type, folded from its event stream."""

from __future__ import annotations

from functools import reduce

import pytest
from msgspec.structs import replace

from tests.unit.samples import (
    LATER,
    LATEST,
    NOON,
    POSTS,
    STAGES,
    TEXT,
    event_of,
    type_created,
)
from write_side.domain.content_type import ContentType, evolve
from write_side.domain.definition import Field
from write_side.domain.events import ContentTypeEvent, ContentTypeRemoved, ContentTypeRevised
from write_side.domain.identity import Scope

REVISED = ContentTypeRevised(
    **event_of(at=LATER), content_type_id=POSTS, name="Articles", fields=(), stages=STAGES
)
REMOVED = ContentTypeRemoved(**event_of(at=LATEST), content_type_id=POSTS)


def fold(*events: ContentTypeEvent) -> ContentType | None:
    return reduce(evolve, events, None)


def test_a_created_type_is_at_version_one() -> None:
    content_type = fold(type_created(TEXT))
    assert content_type is not None
    assert (content_type.version, content_type.slug, content_type.first_stage) == (1, "posts", None)
    assert (content_type.created_at, content_type.updated_at) == (NOON, NOON)
    assert (content_type.scope, content_type.name) == (Scope("acme", "production"), "Posts")


def test_a_revision_replaces_the_whole_definition_and_keeps_slug_and_birth() -> None:
    content_type = fold(type_created(TEXT), REVISED)
    assert content_type is not None
    assert (content_type.name, content_type.fields, content_type.stages) == ("Articles", (), STAGES)
    assert (content_type.slug, content_type.created_at) == ("posts", NOON)
    assert (content_type.updated_at, content_type.version) == (LATER, 2)
    assert content_type.first_stage == "writing"
    assert content_type.known == {"body": TEXT}


def test_added_and_removed_fields_remain_known() -> None:
    lead = Field("lead", "Lead", "text")
    content_type = fold(type_created(TEXT), replace(REVISED, fields=(lead,)), REVISED)
    assert content_type is not None
    assert content_type.known == {"body": TEXT, "lead": lead}


def test_a_removed_type_is_marked_as_removed() -> None:
    content_type = fold(type_created(), REMOVED)
    assert content_type is not None
    assert content_type.removed
    assert (content_type.version, content_type.updated_at) == (2, LATEST)


def test_sections_have_no_values() -> None:
    content_type = fold(type_created(Field("intro", "Intro", "section"), TEXT))
    assert content_type is not None
    assert content_type.value_fields == (TEXT,)


def test_a_type_that_was_never_created_cannot_be_revised() -> None:
    with pytest.raises(AssertionError, match="ContentTypeRevised of a type that was never created"):
        evolve(None, REVISED)
