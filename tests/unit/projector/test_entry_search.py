"""The full-text search rows that a batch changes, and the words in them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from projector import entry_search as module
from projector.entry_search import EntrySearch, search_changes, search_document
from projector.projection import project
from projector.rows import Rows
from tests.unit.projector.test_projection import recorded, rows_after, types_of
from tests.unit.samples import created, deleted, raws, type_created, updated
from write_side.domain import events as e
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.words import lexeme_prefix, search_area

LEAD = Field("lead", "Lead", "text", searchable=True)
BODY = Field("body", "Body", "rich_text", searchable=True)
TYPE = project(recorded(type_created(LEAD, Field("note", "Note", "text"), BODY)), Rows())
GERMAN, FRENCH = Translation("Flut"), Translation(None, raws(lead="Marée"))
SETTLED = rows_after(created(translations={"de-DE": GERMAN, "fr-FR": FRENCH}))
PLACE = ("acme", "production", 1)


def changed(before: Rows, *events: e.Event, after: int = 1) -> dict[str, list[Any]]:
    """Returns the rows that the events change: locales of rows to write, places of the others."""
    batch = recorded(*events, start=90, after=after)
    found = search_changes(before, project(batch, before), types_of(TYPE))
    rows: dict[str, list[Any]] = {
        "gone": found.gone,
        "moved": found.moved,
        "replaced": [row.locale for row in found.replaced],
        "new": [row.locale for row in found.new],
    }
    return {name: of_name for name, of_name in rows.items() if of_name}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (updated(slug="other", fields=raws(note="not searched")), {}),
        (updated(fields=raws(lead="Tide")), {"replaced": ["", "de-DE"]}),
        (updated(title="Tide"), {"replaced": ["", "fr-FR"]}),
        (updated(translations={"it-IT": Translation("Marea")}), {"new": ["it-IT"]}),
        (updated(translations={"de-DE": Translation("")}), {"gone": [(*PLACE, "de-DE")]}),
        (
            updated(status="published"),
            {"moved": [(*PLACE, locale, "published") for locale in ("", "de-DE", "fr-FR")]},
        ),
        (
            updated(status="published", translations={"de-DE": Translation("Ebbe")}),
            {
                "moved": [(*PLACE, locale, "published") for locale in ("", "fr-FR")],
                "replaced": ["de-DE"],
            },
        ),
        (deleted(), {"gone": [(*PLACE, locale) for locale in ("", "de-DE", "fr-FR")]}),
    ],
)
def test_only_the_rows_whose_text_or_status_changes_are_written(
    event: e.Event, expected: dict[str, list[Any]]
) -> None:
    assert changed(SETTLED, event) == expected


def test_a_new_entry_has_a_row_for_each_language_unless_it_is_gone_again() -> None:
    new = created(translations={"de-DE": GERMAN})
    assert changed(TYPE, new, after=0) == {"new": ["", "de-DE"]}
    assert changed(TYPE, new, deleted(), after=0) == {}


class Transaction:
    """Records the rows that would be written."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    async def add(self, _name: str, parameters: list[list[Any]]) -> None:
        self.rows += zip(*parameters, strict=True)


def documents(**changes: Any) -> dict[str, list[str]]:
    """Returns the words of a new entry's rows by locale. Polish has no stemmer, so none is
    called."""
    batch = recorded(created(language="pl-PL", title="Fala", **changes), start=20_000)
    transaction: Any = Transaction()
    connection: Any = SimpleNamespace(fetch=None)
    write = EntrySearch(connection).write(transaction, TYPE, project(batch, TYPE), types_of(TYPE))
    asyncio.run(write)
    found = {}
    for workspace, environment, position, locale, status, document in transaction.rows:
        assert (workspace, environment, position, status) == ("acme", "production", 20_000, "draft")
        area = search_area(*PLACE[:2], created().content_type_id, "pl-PL", locale)
        prefix = lexeme_prefix(area, 16_384)
        assert all(word.startswith(prefix) for word in document.split())
        found[locale] = [word.removeprefix(prefix) for word in document.split()]
    return found


def test_a_row_has_the_words_of_the_title_and_the_searchable_fields() -> None:
    fields = raws(lead="Mała fala", note="nie", body="<p>pod<b>pływ</b></p>")
    translations = {"pl-XX": Translation(None, raws(lead="Prąd")), "xx-XX": Translation("One")}
    assert documents(fields=fields, translations=translations) == {
        "": ["fala:1A", "mała", "podpływ"],
        "pl-XX": ["fala:1A", "prąd", "podpływ"],
        "xx-XX": ["one:1A", "mała", "fala", "podpływ"],
    }


def test_the_beginning_of_long_texts_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_TEXT", 9)
    fields = raws(lead="ab", body="cd ef")
    assert documents(fields=fields)[""] == ["fala:1A", "ab", "cd"]
    assert documents(fields=raws(lead="abcdef", body="g"))[""] == ["fala:1A", "abcde"]
    monkeypatch.setattr(module, "LONGEST_TEXT", 2)
    assert documents(fields=fields)[""] == ["fa:1A"]


def test_translations_share_the_text_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALL_TRANSLATIONS", 6)
    two = {"xx-XX": Translation("abcdef"), "yy-YY": Translation("ghi")}
    found = documents(translations=two)
    assert (found["xx-XX"], found["yy-YY"]) == (["abc:1A"], ["ghi:1A"])


LEXEMES = {"the": (), "fox": ("fox",), "foxes": ("foxes", "fox")}


@pytest.mark.parametrize(
    ("title", "body", "document"),
    [
        ("the foxes", "", "-the:1A -foxes:2A -fox:2A"),
        ("", "the fox", "-fox"),
        ("fox", "foxes the foxes", "-fox:1A,2,4 -foxes:2,4"),
        ("", "fox " * 9, "-fox:1,2,3,4,5,6,7,8"),
        ("the", "the the", "-the:1A"),
        ("", "", ""),
    ],
)
def test_words_of_the_title_and_repeated_words_have_positions(
    title: str, body: str, document: str
) -> None:
    assert search_document("-", title.split(), body.split(), LEXEMES) == document


@pytest.mark.parametrize(
    ("limit", "most", "document"),
    [
        ("MOST_LEXEMES", 2, "-é -b"),
        ("MOST_BYTES", 9, "-é -b -c"),
        ("MOST_BYTES", 8, "-é -b"),
        ("MOST_BYTES", 2, ""),
    ],
)
def test_a_document_ends_with_its_last_whole_lexeme(
    limit: str, most: int, document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, most)
    letters = {letter: (letter,) for letter in "ébc"}
    assert search_document("-", [], ["é", "b", "c"], letters) == document
