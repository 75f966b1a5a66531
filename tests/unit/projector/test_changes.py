"""The changes of a batch, as announced to processes that cache responses."""

from __future__ import annotations

import pytest

from projector.history import notice, type_changes
from projector.projection import RecordedEvent, project
from projector.rows import MediaRow, Rows
from read_side.notices import TypeChange
from tests.unit.projector.test_projection import recorded, removed, revised
from tests.unit.samples import ENTRY, TEXT, created, deleted, type_created, updated
from write_side.domain import events as e
from write_side.domain.events import STATUSES

SETTLED = project(recorded(type_created(TEXT), created()), Rows())
NEW_TYPE = project(recorded(type_created(TEXT)), Rows())


def changes(before: Rows, *events: e.Event, after: int) -> list[TypeChange] | None:
    """``after`` is the stream's version before the events."""
    batch: list[RecordedEvent] = recorded(*events, start=3, after=after)
    found = type_changes(before, project(batch, before))
    return None if found is None else list(found)


def posts(statuses: tuple[str, ...], entries: tuple[str, ...] | None) -> TypeChange:
    return TypeChange("acme", "production", "posts", statuses, entries)


def test_a_new_entry_changes_lists_of_its_status_alone() -> None:
    assert changes(NEW_TYPE, created(), after=0) == [posts(("draft",), ())]


def test_an_updated_or_deleted_entry_is_named() -> None:
    assert changes(SETTLED, updated(title="New"), after=1) == [posts(("draft",), (ENTRY,))]
    assert changes(SETTLED, deleted(), after=1) == [posts(("draft",), (ENTRY,))]


def test_an_entry_that_changes_its_status_changes_lists_of_both() -> None:
    published = updated(status="published")
    assert changes(SETTLED, published, after=1) == [posts(("draft", "published"), (ENTRY,))]


@pytest.mark.parametrize("event", [revised(TEXT), removed()])
def test_a_change_of_the_type_changes_all_of_it(event: e.Event) -> None:
    assert changes(NEW_TYPE, event, after=1) == [posts(STATUSES, None)]
    both = changes(SETTLED, event, after=1)
    assert both == [posts(STATUSES, None)]


def test_an_entry_created_and_deleted_in_one_batch_affects_no_response() -> None:
    found = changes(NEW_TYPE, created(), deleted(), after=0)
    assert found is not None
    [change] = found
    assert list(change.dependencies()) == [], "but the change feed has it"


def test_a_changed_or_removed_file_changes_the_library_of_its_workspace() -> None:
    of_type = project(recorded(type_created(TEXT)), Rows())
    assert notice(1, 0, 1, Rows(), of_type).media == ()
    media: dict[tuple[str, str], MediaRow | None] = {
        ("acme", "a"): None,
        ("acme", "b"): None,
        ("globex", "a"): None,
    }
    assert notice(1, 0, 1, Rows(), Rows(media=media)).media == ("acme", "globex")


def test_where_the_type_is_not_known_everything_has_changed() -> None:
    assert changes(Rows(), type_created(TEXT), removed(), after=0) is None
