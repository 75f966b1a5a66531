"""The entry, folded from its event stream (behaviour.md §2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import reduce

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tests.unit.samples import LATER, LATEST, NOON, created, deleted, raws, updated
from write_side.domain.entry import (
    MAX_BYTES,
    MAX_BYTES_IN_ALL_LOCALES,
    MAX_RENDERED,
    MAX_TRANSLATED_VALUES,
    Entry,
    check_size,
    evolve,
    projected_bytes,
    rendered_bytes,
    restored_fields,
    stored_bytes,
    translates,
)
from write_side.domain.events import EntryEvent, EntryUpdated, Status, Translation
from write_side.domain.refusals import InvalidEntry


def entry_of(*events: EntryEvent) -> Entry:
    entry = reduce(evolve, events, None)
    assert entry is not None
    return entry


def test_a_created_entry_has_the_values_of_its_event() -> None:
    entry = entry_of(created(fields=raws(body="a"), stage_id="writing"))
    assert (entry.title, entry.slug, entry.language) == ("Hello", "hello", "en-US")
    assert (entry.status, entry.stage_id, entry.published_at) == ("draft", "writing", None)
    assert (entry.created_at, entry.updated_at, entry.version) == (NOON, NOON, 1)
    assert entry.fields == raws(body="a")


def test_an_update_changes_only_its_values() -> None:
    before = entry_of(created(fields=raws(a="1", b="2"), stage_id="writing"))
    after = entry_of(
        created(fields=raws(a="1", b="2"), stage_id="writing"),
        updated(title="Bye", fields=raws(b="3")),
    )
    assert (after.title, after.fields) == ("Bye", raws(a="1", b="3"))
    assert (after.slug, after.status, after.stage_id) == (
        before.slug,
        before.status,
        before.stage_id,
    )
    assert (after.created_at, after.updated_at, after.version) == (NOON, LATER, 2)


def test_null_empties_a_field() -> None:
    entry = entry_of(created(fields=raws(a="1")), updated(fields=raws(a=None)))
    assert bytes(entry.fields["a"]) == b"null"


def test_a_deleted_entry_is_marked_as_deleted() -> None:
    entry = entry_of(created(), deleted())
    assert entry.deleted
    assert (entry.updated_at, entry.version) == (LATEST, 2)


def test_an_entry_that_was_never_created_cannot_be_updated() -> None:
    with pytest.raises(AssertionError, match="EntryUpdated of an entry that was never created"):
        evolve(None, updated(title="a"))


PUBLISHED_AT: list[tuple[str, list[Status], datetime | None]] = [
    ("never published", ["draft"], None),
    ("archived, never published", ["draft", "archived"], None),
    ("created published", ["published"], NOON),
    ("published", ["draft", "published"], LATER),
    ("back to draft keeps it", ["published", "draft"], NOON),
    ("archiving keeps it", ["published", "archived"], NOON),
    ("out of the archive keeps it", ["published", "archived", "published"], NOON),
    ("republished from draft", ["published", "draft", "published"], LATEST),
    ("first published from the archive", ["draft", "archived", "published"], LATEST),
    ("published twice", ["published", "published"], NOON),
]


@pytest.mark.parametrize(
    ("statuses", "expected"), [case[1:] for case in PUBLISHED_AT], ids=[c[0] for c in PUBLISHED_AT]
)
def test_published_at_is_set_when_a_draft_is_published(
    statuses: list[Status], expected: datetime | None
) -> None:
    times = [LATER, LATEST]
    first, *others = statuses
    later = [updated(status=s, at=at) for s, at in zip(others, times, strict=False)]
    assert entry_of(created(status=first), *later).published_at == expected


def test_an_edit_of_a_published_entry_keeps_published_at() -> None:
    assert entry_of(created(status="published"), updated(title="b")).published_at == NOON


def test_the_archive_keeps_the_stage() -> None:
    entry = entry_of(
        created(stage_id="review"), updated(status="archived"), updated(status="draft")
    )
    assert entry.stage_id == "review"


def test_a_stage_can_be_left() -> None:
    assert entry_of(created(stage_id="review"), updated(stage_id=None)).stage_id is None
    assert entry_of(created(stage_id="review"), updated(title="a")).stage_id == "review"


FRENCH = {"fr-FR": Translation("Bonjour", raws(body="corps", lead="tête"))}


def french(*changes: Translation) -> Translation | None:
    later = [updated(translations={"fr-FR": change}) for change in changes]
    return entry_of(created(translations=FRENCH), *later).translations.get("fr-FR")


def test_translations_are_merged_by_text() -> None:
    assert french(Translation(fields=raws(body="texte"))) == Translation(
        "Bonjour", raws(body="texte", lead="tête")
    )
    assert french(Translation("Salut")) == Translation("Salut", FRENCH["fr-FR"].fields)


@pytest.mark.parametrize("nothing", ['""', "null"])
def test_an_empty_text_removes_the_translation(nothing: str) -> None:
    assert french(Translation(fields={"body": Raw(nothing.encode())})) == Translation(
        "Bonjour", raws(lead="tête")
    )


def test_an_empty_title_removes_the_translation() -> None:
    assert french(Translation("")) == Translation(None, FRENCH["fr-FR"].fields)


def test_a_translation_without_texts_is_removed() -> None:
    assert french(Translation("", raws(body="", lead=None))) is None
    assert entry_of(created(translations={"fr-FR": Translation("")})).translations == {}


def test_a_removed_translation_can_be_added_again() -> None:
    gone = Translation("", raws(body="", lead=None))
    assert french(gone, Translation("Salut")) == Translation("Salut")


def test_translations_of_other_locales_are_unchanged() -> None:
    entry = entry_of(
        created(translations=FRENCH),
        updated(translations={"de-DE": Translation("Hallo")}),
    )
    assert entry.translations == {**FRENCH, "de-DE": Translation("Hallo")}


@pytest.mark.parametrize(
    "update",
    [
        updated(title="Bye"),
        updated(slug="bye"),
        updated(status="archived"),
        updated(stage_id=None),
        updated(fields=raws(a=None)),
        updated(translations={"fr-FR": Translation("")}),
    ],
)
def test_an_update_with_a_value_changes_something(update: EntryUpdated) -> None:
    assert update.changes_anything
    assert not updated().changes_anything


def test_an_equal_translation_changes_nothing() -> None:
    entry = entry_of(created(translations=FRENCH))
    assert not translates(entry, "fr-FR", Translation("Bonjour", raws(body="corps")))
    assert not translates(entry, "de-DE", Translation("", raws(body=None)))
    assert translates(entry, "fr-FR", Translation(fields=raws(body=None)))
    assert translates(entry, "de-DE", Translation("Hallo"))


class LookedUp(dict[str, Translation]):
    """Raises an error if the translations are iterated over."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all translations are read for each that changes")

    keys = items = values = __iter__  # type: ignore[assignment]


def test_only_the_requested_translation_is_read() -> None:
    entry = replace(entry_of(created()), translations=LookedUp(FRENCH))
    assert translates(entry, "fr-FR", Translation("Salut"))
    assert not translates(entry, "fr-FR", Translation("Bonjour"))


def test_the_changes_that_restore_earlier_values() -> None:
    then, now = raws(a="1", b="2", gone=None), raws(b="3", c="4", a="1")
    assert restored_fields(then, now) == raws(b="2", c=None)


def text(size: int) -> dict[str, Raw]:
    """Returns values that take ``size`` bytes as JSON."""
    return {"body": Raw(b'"' + b"a" * (size - 2) + b'"')}


def sized(own: int, **translations: Translation) -> Entry:
    """Returns an entry whose own texts and values take ``own`` bytes."""
    return entry_of(created(title="é", slug="ü", fields=text(own - 4), translations=translations))


TITLE, BODY = Translation("ö"), Translation("ö", text(8))


@pytest.mark.parametrize(
    ("entry", "stored", "rendered", "rows"),
    [
        (sized(20), 20, 0, 0),
        (sized(20, fr=TITLE), 22, 2, 2),
        (sized(20, fr=TITLE, de=BODY, it=BODY), 42, 62, 62),
        (sized(MAX_RENDERED - 10, fr=BODY), MAX_RENDERED, MAX_RENDERED, MAX_RENDERED),
        (sized(MAX_RENDERED - 9, fr=BODY), MAX_RENDERED + 1, MAX_RENDERED + 1, 10),
    ],
)
def test_the_size_of_an_entry_counts_each_translation(
    entry: Entry, stored: int, rendered: int, rows: int
) -> None:
    """The row of each translation adds 1,024 bytes. If it is stored rendered and has texts of its
    own, it also adds all values of the entry."""
    assert stored_bytes(entry) == stored
    assert rendered_bytes(entry) == rendered
    assert projected_bytes(entry) == stored + rows + 1_024 * len(entry.translations)


def many(values: int) -> Translation:
    return Translation(fields={f"f{n}": Raw(b"1") for n in range(values)})


REST = MAX_BYTES_IN_ALL_LOCALES - MAX_BYTES


@pytest.mark.parametrize(
    ("largest", "larger", "bound"),
    [
        (sized(MAX_BYTES), sized(MAX_BYTES + 1), "2,097,153 bytes; the limit is 2,097,152"),
        (
            sized(MAX_BYTES, fr=Translation(fields=text(REST))),
            sized(MAX_BYTES, fr=Translation(fields=text(REST)), de=Translation("a")),
            "8,388,609 bytes with its translations; the limit is 8,388,608",
        ),
        (
            sized(20, fr=many(MAX_TRANSLATED_VALUES - 1), de=many(1)),
            sized(20, fr=many(MAX_TRANSLATED_VALUES), de=many(1)),
            "10,001 values; the limit is 10,000",
        ),
    ],
    ids=["own", "in all locales", "values"],
)
def test_an_entry_larger_than_a_limit_is_refused(largest: Entry, larger: Entry, bound: str) -> None:
    check_size(largest)
    with pytest.raises(InvalidEntry, match=bound):
        check_size(larger)
