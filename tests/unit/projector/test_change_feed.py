"""The change in the feed that each event causes."""

from __future__ import annotations

from typing import Any

import pytest

from projector.projection import project
from projector.rebuild.replay import EntryFold
from projector.rows import Rows
from read_side.changes import ChangeRecord
from read_side.notices import FedChange
from tests.unit.projector.test_projection import POSTS_TYPE, recorded, removed, revised
from tests.unit.samples import (
    ENTRY,
    LATER,
    NOON,
    POSTS,
    TEXT,
    created,
    deleted,
    type_created,
    updated,
)
from write_side.domain import events as e

STEPS = {
    ("draft", "draft"): ("entry.updated", False),
    ("draft", "published"): ("entry.published", True),
    ("draft", "archived"): ("entry.archived", False),
    ("published", "published"): ("entry.updated", True),
    ("published", "draft"): ("entry.unpublished", True),
    ("published", "archived"): ("entry.archived", True),
    ("archived", "archived"): ("entry.updated", False),
    ("archived", "draft"): ("entry.updated", False),
    ("archived", "published"): ("entry.published", True),
}


def changes(*events: e.Event, before: Rows = POSTS_TYPE) -> list[ChangeRecord]:
    return [row.change for row in fed(*events, before=before)]


def fed(*events: e.Event, before: Rows = POSTS_TYPE) -> list[FedChange]:
    return project(recorded(*events, start=7), before).changes


@pytest.mark.parametrize(("before", "after"), STEPS)
def test_the_kind_of_an_update_is_what_it_does_to_the_status(before: Any, after: Any) -> None:
    _, change = changes(created(status=before), updated(title="New", status=after))
    assert (change.kind, change.published) == STEPS[before, after]


@pytest.mark.parametrize("status", ["draft", "published", "archived"])
def test_created_and_deleted_entries_are_so_in_any_status(status: Any) -> None:
    first, last = changes(created(status=status), deleted(at=LATER))
    assert (first.kind, last.kind) == ("entry.created", "entry.deleted")
    assert first.published is last.published is (status == "published")
    assert (last.status, last.slug, last.version, last.at) == (status, "hello", 2, LATER)


def test_a_change_has_the_entry_as_it_was_after_the_event() -> None:
    events = created(slug="one"), updated(slug="two", at=LATER)
    assert {(row.workspace, row.environment) for row in fed(*events)} == {("acme", "production")}
    first, second = changes(*events)
    assert first == ChangeRecord(
        position=7,
        kind="entry.created",
        published=False,
        content_type_id=POSTS,
        content_type="posts",
        entry_id=ENTRY,
        slug="one",
        former_slug=None,
        language="en-US",
        status="draft",
        version=1,
        at=NOON,
        actor="operator ann",
    )
    assert (second.position, second.slug, second.former_slug) == (8, "two", "one")
    assert (second.version, second.at) == (2, LATER)


def test_content_types_change_and_are_removed_in_the_sight_of_all() -> None:
    found = changes(type_created(TEXT), revised(TEXT), removed(at=LATER), before=Rows())
    assert [change.kind for change in found] == [
        "contentType.changed",
        "contentType.changed",
        "contentType.removed",
    ]
    assert [(change.version, change.published) for change in found] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    assert {(change.content_type_id, change.content_type, change.entry_id) for change in found} == {
        (POSTS, "posts", None)
    }


def test_a_replay_makes_the_same_changes_across_pages() -> None:
    events = [created(), updated(status="published"), updated(slug="two"), deleted()]
    batch = recorded(*events, start=7)
    fold = EntryFold()
    fold.type_slugs[POSTS] = "posts"
    found = []
    for page in (batch[:1], batch[1:3], batch[3:]):
        fold.complete(page)
        found += fold.history.changes
    assert found == fed(*events)
