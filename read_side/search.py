"""Full-text search: which entries have all words of a text, and how relevant they are (ADR 45)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import compress
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from write_side.domain.identity import Scope
from write_side.domain.words import SearchWords, dictionary, search_area, search_words
from write_side.postgres.connection import Fetch
from write_side.postgres.statements import statement

MOST = 10_000
"""The newest matches, among which the most relevant come first."""
MOST_READ = 5 * MOST
"""Texts with the words that are read, also of another status or with a translation."""
MOST_BYTES = 16 * 1024 * 1024
"""Stored bytes of the texts that are ranked; matches beyond are the least relevant."""
LONGEST = 200
"""Characters of a search."""
_SEARCH = statement("read_side", "search")
_LEXIZE = statement("read_side", "lexize")
KEPT = 50_000
"""Words of a language that are kept, unless one call has more; they take 10 MB."""
Lexemes: TypeAlias = Mapping[str, tuple[str, ...]]
Kind: TypeAlias = tuple[str, str, str]
"""Content type id, status and language of an entry."""


class SearchResult(Struct, frozen=True):
    """The kinds, positions and ranks of the newest matches, in lists of the same order: newest
    first. ``is_complete``: whether there are no others. ``has_unread``: whether the projector has
    yet to find the words of some texts."""

    kinds: list[Kind]
    positions: list[int]
    ranks: list[float]
    is_complete: bool
    has_unread: bool = False


class _Area(Struct, frozen=True):
    """The texts of a type and language: the original ones (``locale`` ""), or in a locale."""

    type_id: str
    language: str
    locale: str

    @property
    def written_in(self) -> str:
        return self.locale or self.language


class Stems:
    """The lexemes of words in each language: the word, and its stem if that differs; none for a
    stop word. A language without a stemmer has the word alone."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[str, ...]]] = {}

    async def lexemes(self, fetch: Fetch, language: str, words: Iterable[str]) -> Lexemes:
        """The lexemes by word, at least of these words."""
        name = dictionary(language)
        if name is None:
            return _LexemesByWord()
        known = self._known.setdefault(name, _LexemesByWord())
        # Numbers, which titles often have, are neither kept nor cost a round trip.
        wanted = {word for word in words if not is_number(word)}
        missing = [word for word in wanted if word not in known]
        if missing:
            if len(known) + len(missing) > KEPT:
                known = _LexemesByWord((word, known[word]) for word in wanted if word in known)
                self._known[name] = known
            for row in await fetch(_LEXIZE, f"pg_catalog.{name}_stem", missing):
                known[row["word"]] = _lexemes(row["word"], row["lexemes"])
        return known


def is_number(word: str) -> bool:
    """Numbers are the same in all languages: no stemmer changes them."""
    return word.isascii() and word.isdigit()


class _LexemesByWord(dict[str, tuple[str, ...]]):
    """A word that is not in it is its own lexeme."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        return (word,)


def _lexemes(word: str, stems: list[str] | None) -> tuple[str, ...]:
    if stems is None:
        return (word,)
    return (word, *(stem for stem in stems if stem != word)) if stems else ()


_stems = Stems()


async def search(
    fetch: Fetch, scope: Scope, text: str, kinds: Collection[Kind], locale: str = ""
) -> SearchResult:
    """The entries of these kinds that have all words of the text, the last as the beginning of a
    word: in their translation into the locale, or in their original text if they have none. A text
    without a word matches nothing."""
    queries: dict[str, tuple[str | None, str]] = {}
    areas: list[_Area] = []
    for area in _areas(kinds, locale):
        if area.written_in not in queries:
            queries[area.written_in] = await _query(fetch, text, area.written_in)
        if queries[area.written_in][1]:
            areas.append(area)
    if not areas:
        return SearchResult([], [], [], is_complete=True)
    statuses = sorted({status for _, status, _ in kinds})
    (row,) = await fetch(
        _SEARCH,
        scope.workspace,
        scope.environment,
        statuses,
        [area.type_id for area in areas],
        [area.language for area in areas],
        [area.locale for area in areas],
        [search_area(scope.workspace, scope.environment, *astuple(area)) for area in areas],
        *zip(*(queries[area.written_in] for area in areas), strict=True),
        locale,
        MOST,
        MOST_READ,
        MOST_BYTES,
    )
    selected = frozenset(kinds)
    kind_of = {
        (number, status): kind
        for number, area in enumerate(areas, 1)
        for status in statuses
        if (kind := (area.type_id, status, area.language)) in selected
    }
    found = [kind_of.get(pair) for pair in zip(row["areas"], row["statuses"], strict=True)]
    return SearchResult(
        [kind for kind in found if kind is not None],
        [*compress(row["positions"], found)],
        [*compress(row["ranks"], found)],
        row["is_complete"],
        row["has_unread"],
    )


def _areas(kinds: Iterable[Kind], locale: str) -> list[_Area]:
    """A text is never translated into its original language."""
    pairs = sorted({(type_id, language) for type_id, _, language in kinds})
    translated = [_Area(*pair, locale) for pair in pairs if locale not in ("", pair[1])]
    return [_Area(*pair, "") for pair in pairs] + translated


async def _query(fetch: Fetch, text: str, language: str) -> tuple[str | None, str]:
    found = search_words(text, language)
    return tsqueries(found, await _stems.lexemes(fetch, language, found.all))


def tsqueries(words: SearchWords, known: Lexemes) -> tuple[str | None, str]:
    """A gate for the whole words, if there are also beginnings of words, and the query, "" without
    a word; # stands for the prefix of all lexemes. Stop words are left out, unless there are no
    others."""
    is_stop = {word: not known[word] for word in words.all}
    if not all(is_stop.values()):
        words = SearchWords(
            tuple(word for word in words.whole if not is_stop[word]),
            tuple(word for word in words.beginnings if not is_stop[word]),
        )
    # A text that has the word in another form has its stem.
    whole = [f"'#{(known[word] or (word,))[-1]}'" for word in words.whole]
    beginnings = [
        " | ".join([f"'#{word}':*", *(f"'#{stem}'" for stem in known[word][1:])])
        for word in words.beginnings
    ]
    gate = " & ".join(whole) if whole and beginnings else None
    return gate, " & ".join([*whole, *(f"({one})" for one in beginnings)])
