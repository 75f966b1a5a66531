"""Pages of changes to several content types are merged into one page in log order."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from api.webhooks.deliverable_changes import merged
from read_side.changes import ChangePage, ChangeRecord

AT = datetime(2026, 1, 31, tzinfo=UTC)
LIMIT = 3


def change(position: int, slug: str) -> ChangeRecord:
    return ChangeRecord(
        position=position,
        kind="entry.created",
        published=False,
        content_type_id="t",
        content_type=slug,
        entry_id="e",
        slug=slug,
        former_slug=None,
        language="en-US",
        status="draft",
        version=1,
        at=AT,
        actor="ann",
    )


def page(log: dict[int, str], slug: str, after: int, through: int) -> ChangePage:
    """Returns the page that ``changes_after`` would read."""
    of_type = [change(position, slug) for position, one in log.items() if one == slug]
    found = [one for one in of_type if after < one.position <= through]
    before = [one for one in of_type if one.position <= after]
    last = before[-1] if before else None
    return ChangePage(found[:LIMIT], None, last, through, len(found) <= LIMIT)


@given(st.lists(st.sampled_from(["posts", "authors", "other"]), max_size=30), st.data())
def test_the_pages_of_two_types_are_the_log_without_the_other_ones(
    slugs: list[str], data: st.DataObject
) -> None:
    log = dict(enumerate(slugs, 1))
    expected = [position for position, slug in log.items() if slug != "other"]
    seen: list[int] = []
    for number in itertools.count():
        after = seen[-1] if seen else 0
        # The checkpoint may advance between the two reads; eventually it stays.
        first = len(log) if number > 20 else data.draw(st.integers(after, len(log)))
        second = data.draw(st.integers(first, len(log)))
        one = merged([page(log, "posts", after, first), page(log, "authors", after, second)])
        assert (one.previous.position if one.previous else 0) == after
        seen += [change.position for change in one.changes]
        if one.is_last and first == len(log):
            break
    assert seen == expected


def test_an_empty_page_reaches_the_earlier_checkpoint() -> None:
    one = merged([page({}, "posts", 0, 7), page({}, "authors", 0, 9)])
    assert (one.changes, one.through, one.is_last) == ([], 7, True)
