"""The rows of ``entry_search``, and the lexemes of the words of their texts (ADR 45).

An entry has a row for its original language, and one for each locale into which it is translated.
The text of a row is the title and the fields that are ``searchable``; for a locale, with the
original texts where a translation is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import asyncpg
import msgspec
import structlog
from msgspec import Raw, Struct
from prometheus_client import Counter as Metric

from projector.rows import EntryState, Rows, Types, columns
from projector.write_transaction import WriteTransaction
from read_side.search import Lexemes, Stems
from write_side.domain.entry import Entry
from write_side.domain.words import (
    BLOCK,
    LONGEST_TEXT,
    lexeme_prefix,
    search_area,
    without_markup,
    words,
)
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement
from write_side.waiting import portions

T = TypeVar("T")
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
AT_ONCE = LONGEST_TEXT + ALL_TRANSLATIONS
"""Characters of one workspace whose words are found while a batch is written: enough for any entry.
The words of a file of 64 MB could take a minute, in which no other write would become visible."""
PORTION = 1_000_000
"""Characters whose words are in memory at the same time, unless a single text has more."""
UNSEARCHABLE = Metric(
    "contentlog_unsearchable_entries",
    "Entries written without words, because their words could not be found or stored",
    registry=None,
)
_FAULTS = (
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
    asyncpg.DataError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.PostgresSyntaxError,  # of a tsvector: the statements themselves are tested
)
"""Errors that a text can cause. Unlike a lost connection, they would occur again."""
_Failed: TypeAlias = dict[str, tuple[Entry, Exception]]
"""The entries whose words failed, by id."""
_decode = msgspec.json.Decoder().decode
_log = structlog.get_logger("projector")


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


class EntrySearch:
    """Writes the rows. ``connection`` is asked for the lexemes of words. ``can_wait``: whether
    those of long texts may be postponed (``postponed_words``)."""

    def __init__(self, connection: Connection, *, can_wait: bool = False) -> None:
        self._connection = connection
        self._can_wait = can_wait
        self._stems = Stems()
        # Not None while each row is written by itself.
        self._failed: _Failed | None = None

    async def carry_out(self, transact: Callable[[], Awaitable[T]]) -> T:
        """Carries out a transaction that writes rows. If it fails with an error that words can
        cause, it is repeated with each row written by itself; rows whose words fail get none.

        Raises what the second attempt raises: no other data is left out.
        """
        try:
            return await transact()
        except _FAULTS:
            self._failed = failed = _Failed()
            try:
                done = await transact()
            finally:
                self._failed = None
            for entry, fault in failed.values():
                _report(entry, fault)
            return done

    async def write(
        self, transaction: WriteTransaction, before: Rows, after: Rows, types: Types
    ) -> None:
        """The rows that a batch changes. ``types``: of the entries in ``after``."""
        changes = search_changes(before, after, types)
        if self._can_wait:
            _postpone([*changes.replaced, *changes.new])
        await transaction.add("drop_search", columns(changes.gone))
        await transaction.add("move_search", columns(changes.moved))
        await self.put(transaction, "replace_search", changes.replaced, types)
        await self.put(transaction, "put_search", changes.new, types)

    async def put(
        self, transaction: WriteTransaction, name: str, rows: Iterable[SearchRow], types: Types
    ) -> None:
        """``name``: ``put_search`` for entries that have no rows, else ``replace_search``."""
        if self._failed is not None:
            for row in rows:
                await self._put_alone(await transaction.flush(), name, row, types, self._failed)
            return
        for portion in portions(rows, lambda row: row.characters, PORTION):
            await transaction.add(name, columns(await self._values(portion, types)))

    async def _put_alone(
        self,
        connection: Connection,
        name: str,
        row: SearchRow,
        types: Types,
        failed: _Failed,
    ) -> None:
        put = statement("projector", name)
        try:
            async with connection.transaction():
                await connection.execute(put, *columns(await self._values([row], types)))
        except _FAULTS as error:
            entry = row.state.entry
            failed.setdefault(entry.id, (entry, error))
            await connection.execute(put, *columns([row.parameters("")]))

    async def _values(self, rows: list[SearchRow], types: Types) -> list[tuple[Any, ...]]:
        """The parameters of ``put_search`` and ``replace_search``."""
        found = [(row, *words_of(row, types)) for row in rows if not row.is_later]
        by_language: dict[str, set[str]] = {}
        for row, title, body in found:
            by_language.setdefault(row.language, set()).update(title, body)
        lexemes = {
            language: await self._stems.lexemes(self._connection.fetch, language, used)
            for language, used in by_language.items()
        }
        return [
            row.parameters(search_document(row.prefix, title, body, lexemes[row.language]))
            for row, title, body in found
        ] + [row.parameters(None) for row in rows if row.is_later]


def _postpone(rows: list[SearchRow]) -> None:
    """Leaves the longest texts of each workspace that has more than AT_ONCE to the background."""
    if sum(row.text.longest for row in rows) <= AT_ONCE:
        return
    left: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: row.text.longest):
        workspace = row.state.entry.workspace
        left[workspace] = left.get(workspace, AT_ONCE) - row.text.longest
        row.is_later = left[workspace] < 0


def _report(entry: Entry, fault: Exception) -> None:
    UNSEARCHABLE.inc()
    # The message of the fault may contain a part of the text.
    named = {"workspace": entry.workspace, "entry": entry.id, "fault": type(fault).__name__}
    _log.error("an entry is not found by search", **named)
