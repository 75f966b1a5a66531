"""A change names its kind, its actor and the fields that changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.samples import LATER, created, deleted, raws, updated
from write_side.domain import entry_changes
from write_side.domain.entry import Entry, evolve
from write_side.domain.entry_changes import Change, actor_name, change
from write_side.domain.events import EntryCreated, EntryEvent, Translation
from write_side.domain.identity import Actor
from write_side.domain.values import json_of


def changed(first: EntryCreated, *events: EntryEvent) -> Change:
    """Returns the change that the last event made."""
    before: Entry | None = None
    after = evolve(None, first)
    event: EntryEvent = first
    for event in events:
        before, after = after, evolve(after, event)
    return change(before, event, after)


def changed_fields(change: Change) -> dict[str, tuple[Any, Any]]:
    return {
        field.field: (msgspec.json.decode(field.before), msgspec.json.decode(field.after))
        for field in change.fields
    }


ACTIONS = [
    ("draft", {"status": "published"}, "published"),
    ("draft", {"status": "archived"}, "archived"),
    ("published", {"status": "draft"}, "unpublished"),
    ("published", {"status": "archived", "title": "New"}, "archived"),
    ("archived", {"status": "draft"}, "restored"),
    ("archived", {"status": "published"}, "published"),
    ("draft", {"stage_id": "review"}, "moved"),
    ("draft", {"stage_id": "review", "title": "New"}, "updated"),
    ("draft", {"translations": {"fr-FR": Translation("Titre")}}, "translated"),
    ("draft", {"translations": {"fr-FR": Translation("T")}, "stage_id": "review"}, "updated"),
    ("draft", {"translations": {"fr-FR": Translation("T")}, "fields": raws(a=1)}, "updated"),
    ("draft", {"slug": "new"}, "updated"),
    ("draft", {"fields": raws(body="B")}, "updated"),
]


@pytest.mark.parametrize(("status", "changes", "action"), ACTIONS)
def test_an_update_has_the_action_of_its_main_change(
    status: str, changes: dict[str, Any], action: str
) -> None:
    assert changed(created(status=status), updated(**changes)).action == action


def test_a_creation_lists_all_values_of_the_entry() -> None:
    event = created(
        title="Hello",
        slug="hello",
        status="published",
        stage_id="review",
        fields=raws(body="B", views=1.50, none=None),
        translations={"fr-FR": Translation("Titre", raws(body="Corps")), "sv-SE": Translation("")},
    )
    change = changed(event)
    assert (change.version, change.action, change.at) == (1, "created", event.at)
    assert changed_fields(change) == {
        "title": (None, "Hello"),
        "slug": (None, "hello"),
        "status": (None, "published"),
        "stage": (None, "review"),
        "fields.body": (None, "B"),
        "fields.views": (None, 1.5),
        "translations.fr-FR.title": (None, "Titre"),
        "translations.fr-FR.fields.body": (None, "Corps"),
    }


def test_an_update_lists_the_replaced_values() -> None:
    first = created(
        title="One",
        fields=raws(body="B", views=1),
        translations={"fr-FR": Translation("Un", raws(body="Corps"))},
    )
    between = updated(title="Two", fields=raws(body="C"))
    last = updated(
        title="Three",
        at=LATER,
        fields=raws(body=None),
        translations={"fr-FR": Translation("", raws(body="")), "sv-SE": Translation("Tre")},
    )
    change = changed(first, between, last)
    assert (change.version, change.at) == (3, LATER)
    assert changed_fields(change) == {
        "title": ("Two", "Three"),
        "fields.body": ("C", None),
        "translations.fr-FR.title": ("Un", None),
        "translations.fr-FR.fields.body": ("Corps", None),
        "translations.sv-SE.title": (None, "Tre"),
    }


def test_values_are_exactly_the_stored_bytes() -> None:
    value = msgspec.Raw(b'{"b": 1.50,"a":[ ]}')
    change = changed(created(), updated(fields={"meta": value}))
    assert [bytes(field.after) for field in change.fields] == [bytes(value)]


def test_published_at_is_not_listed_as_a_field() -> None:
    assert set(changed_fields(changed(created(), updated(status="published")))) == {"status"}


def test_a_change_looks_only_at_translations_that_its_event_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Any] = []

    def counted(text: str | None) -> Any:
        looked.append(text)
        return json_of(text)

    monkeypatch.setattr(entry_changes, "json_of", counted)
    locales = ["de-DE", "fr-FR", "it-IT"]
    first = created(translations={locale: Translation("T", raws(body="B")) for locale in locales})
    one = changed(first, updated(translations={"fr-FR": Translation("Titre")}))
    assert [field.field for field in one.fields] == ["translations.fr-FR.title"]
    assert [text for text in looked if text in ("T", "Titre")] == ["T", "Titre"]


def test_a_deletion_lists_no_values() -> None:
    change = changed(created(title="One"), deleted())
    assert change.action == "deleted"
    assert changed_fields(change)["title"] == ("One", None)


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        (Actor("key", "k-1", "website"), "website"),
        (Actor("key", "k-1"), "k-1"),
        (Actor("import", "i-1", "posts.csv"), "import posts.csv"),
        (Actor("import", "i-1"), "import i-1"),
        (Actor("operator", "ada"), "operator ada"),
    ],
)
def test_actors_are_shown_by_name(actor: Actor, name: str) -> None:
    assert actor_name(actor) == name
    assert changed(replace(created(), actor=actor)).actor == name
