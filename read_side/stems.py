"""The lexemes of words: what PostgreSQL's stemmers make of them, kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from write_side.domain.words import dictionary
from write_side.postgres.connection import Fetch
from write_side.postgres.statements import statement

_LEXIZE = statement("read_side", "lexize")
KEPT = 50_000
"""Words of a language that are kept, unless one call has more; they take 10 MB."""
Lexemes: TypeAlias = Mapping[str, tuple[str, ...]]


class Stems:
    """The lexemes of words in each language: the word, and its stem if that differs; none for a
    stop word. A language without a stemmer has the word alone."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[str, ...]]] = {}

    async def lexemes(self, fetch: Fetch, language: str, words: Iterable[str]) -> Lexemes:
        """The lexemes by word, at least of these words."""
        name = dictionary(language)
        if name is None:
            return _Known()
        known = self._known.setdefault(name, _Known())
        # Numbers, which titles often have, are neither kept nor cost a round trip.
        wanted = {word for word in words if not is_number(word)}
        missing = [word for word in wanted if word not in known]
        if missing:
            if len(known) + len(missing) > KEPT:
                known = _Known((word, known[word]) for word in wanted if word in known)
                self._known[name] = known
            for row in await fetch(_LEXIZE, f"pg_catalog.{name}_stem", missing):
                known[row["word"]] = _lexemes(row["word"], row["lexemes"])
        return known


def is_number(word: str) -> bool:
    """Such words are the same in all languages: no stemmer changes them."""
    return word.isascii() and word.isdigit()


class _Known(dict[str, tuple[str, ...]]):
    """Any other word is its own lexeme."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        return (word,)


def _lexemes(word: str, stems: list[str] | None) -> tuple[str, ...]:
    if stems is None:
        return (word,)
    return (word, *(stem for stem in stems if stem != word)) if stems else ()
