"""The rows of ``entry_search``, and the words of their texts (ADR 45).

An entry has a row for its original language, and one for each locale into which it is translated.
The text of a row is the title and the fields that are ``searchable``; for a locale, with the
original texts where a translation is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Raw, Struct

from projector.rows import EntryState, Rows, Types
from read_side.search import Lexemes
from write_side.domain.entry import Entry
from write_side.domain.words import (
    BLOCK,
    LONGEST_TEXT,
    lexeme_prefix,
    search_area,
    without_markup,
    words,
)

ALL_TRANSLATIONS = 2 * LONGEST_TEXT
"""Characters of all translations of an entry together. With 640 locales, each has 312 of them: an
update may change the words of all, and no other write is visible meanwhile."""
MOST_LEXEMES = 20_000
MOST_POSITIONS = 8
"""Positions of a lexeme that count for the rank of a text."""
MOST_BYTES = 950_000
"""Bytes of a tsvector as text. A few texts reach this, because each word may also have a stem, and
a character may become several. The tsvector takes up to 3 more bytes per lexeme; PostgreSQL's
limit is 1,048,575."""
_decode = msgspec.json.Decoder().decode


class SearchText(Struct, frozen=True):
    """What the words of a row are made from. ``values``: of the searchable fields, as JSON.
    ``longest``: characters that are read; not more than there are, so that equal texts are
    equal."""

    title: str
    values: tuple[Raw | None, ...]
    longest: int


class SearchRow(Struct):
    """A row that is to be written; ``locale`` is "" for the original language. ``is_later``: its
    words are found in the background."""

    state: EntryState
    locale: str
    text: SearchText
    is_later: bool = False

    @property
    def characters(self) -> int:
        """The characters whose words are found now."""
        return 0 if self.is_later else self.text.longest

    @property
    def language(self) -> str:
        return self.locale or self.state.entry.language

    @property
    def prefix(self) -> str:
        """The prefix of all lexemes of the row."""
        entry = self.state.entry
        area = search_area(
            entry.workspace, entry.environment, entry.content_type_id, entry.language, self.locale
        )
        return lexeme_prefix(area, self.state.position // BLOCK * BLOCK)

    def parameters(self, document: str | None) -> tuple[Any, ...]:
        """The parameters of ``put_search`` and ``replace_search``."""
        entry, position = self.state.entry, self.state.position
        place = (entry.workspace, entry.environment, position, self.locale)
        return (*place, entry.status, document)


class SearchChanges(Struct):
    """No row is in two of the lists. ``moved``: rows of which only the status has changed."""

    gone: list[tuple[str, str, int, str]] = []
    moved: list[tuple[str, str, int, str, str]] = []
    replaced: list[SearchRow] = []
    new: list[SearchRow] = []


def search_changes(before: Rows, after: Rows, types: Types) -> SearchChanges:
    """The differences between the rows before and after a batch."""
    changes = SearchChanges()
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        if known is None:
            changes.new += search_rows([state] if state else [], types)
            continue
        place = (known.entry.workspace, known.entry.environment, known.position)
        if state is None:
            changes.gone += [(*place, locale) for locale in ("", *known.entry.translations)]
            continue
        old, new = dict(_texts(known.entry, types)), dict(_texts(state.entry, types))
        changes.gone += [(*place, locale) for locale in old if locale not in new]
        status = state.entry.status
        for locale, text in new.items():
            if locale not in old:
                changes.new.append(SearchRow(state, locale, text))
            elif old[locale] != text:
                changes.replaced.append(SearchRow(state, locale, text))
            elif status != known.entry.status:
                changes.moved.append((*place, locale, status))
    return changes


def search_document(prefix: str, title: list[str], body: list[str], known: Lexemes) -> str:
    """A tsvector as text. Words of the title have the weight A, and stop words only there.

    Positions, by which texts are ranked, are those of the title and of repeated words: with all of
    them, a text of a hundred words would take twice as long.
    """
    positions: dict[str, list[str]] = {}
    for number, word in enumerate(title, 1):
        for lexeme in known[word] or (word,):
            positions.setdefault(lexeme, []).append(f"{number}A")
    repeated = _repeated(body, len(title) + 1)
    for word in dict.fromkeys(body):
        there = [str(number) for number in repeated.get(word, ())[:MOST_POSITIONS]]
        for lexeme in known[word]:
            positions[lexeme] = positions.get(lexeme, []) + there
    document = " ".join(
        [
            f"{prefix}{lexeme}:{','.join(there)}" if there else prefix + lexeme
            for lexeme, there in islice(positions.items(), MOST_LEXEMES)
        ]
    )
    return _shortened(document)


def _shortened(document: str) -> str:
    """The first lexemes of the document, up to MOST_BYTES."""
    encoded = document.encode()
    if len(encoded) <= MOST_BYTES:
        return document
    return encoded[:MOST_BYTES].rpartition(b" ")[0].decode()


def _repeated(words: list[str], first: int) -> dict[str, list[int]]:
    """The positions of the words that occur more than once."""
    counts = Counter(words)
    found: dict[str, list[int]] = {word: [] for word, n in counts.items() if n > 1}
    for number, word in enumerate(words, first):
        if word in found:
            found[word].append(number)
    return found


def search_rows(states: Iterable[EntryState], types: Types) -> Iterator[SearchRow]:
    for state in states:
        for locale, text in _texts(state.entry, types):
            yield SearchRow(state, locale, text)


def _texts(entry: Entry, types: Types) -> Iterator[tuple[str, SearchText]]:
    """The texts of the entry, by locale."""
    slugs = [field.slug for field in types[entry.content_type_id].searchable]
    fields = entry.fields
    yield "", _limited(entry.title, tuple(fields.get(slug) for slug in slugs), LONGEST_TEXT)
    for locale, translation in entry.translations.items():
        share = min(LONGEST_TEXT, ALL_TRANSLATIONS // len(entry.translations))
        values = tuple(translation.fields.get(slug, fields.get(slug)) for slug in slugs)
        yield locale, _limited(translation.title or entry.title, values, share)


def _limited(title: str, values: tuple[Raw | None, ...], longest: int) -> SearchText:
    size = len(title) + sum(memoryview(value).nbytes for value in values if value)
    return SearchText(title, values, min(size, longest))


def words_of(row: SearchRow, types: Types) -> tuple[list[str], list[str]]:
    """The words of the title and of the fields."""
    language = row.language
    title = words(row.text.title[: row.text.longest], language)
    body: list[str] = []
    left = row.text.longest - len(row.text.title)
    fields = types[row.state.entry.content_type_id].searchable
    for field, value in zip(fields, row.text.values, strict=True):
        text = _decode(value) if value else None
        if not isinstance(text, str) or left <= 0:
            continue
        if field.spec.display == "markup":
            text = without_markup(text)
        body += words(text[:left], language)
        left -= len(text)
    return title, body
