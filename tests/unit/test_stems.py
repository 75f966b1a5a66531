"""The lexemes that PostgreSQL searches for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from read_side import search
from read_side.search import Stems


class Stemmer:
    """Responds as PostgreSQL would with a dictionary that strips a final s and has one stop
    word."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, _statement: str, dictionary: str, words: list[str]) -> list[Any]:
        assert dictionary == "pg_catalog.english_stem"
        self.asked += sorted(words)
        return [{"word": word, "lexemes": _lexemes(word)} for word in words]


def _lexemes(word: str) -> list[str]:
    return [] if word == "the" else [word.removesuffix("s")]


def lexemes_of(known: Stems, stemmer: Stemmer, *words: str, language: str = "en-US") -> Any:
    found = asyncio.run(known.lexemes(stemmer, language, words))
    return {word: found[word] for word in words}


def test_words_are_asked_for_once() -> None:
    known, stemmer = Stems(), Stemmer()
    found = lexemes_of(known, stemmer, "foxes", "the", "dog")
    assert found == {"foxes": ("foxes", "foxe"), "the": (), "dog": ("dog",)}
    assert lexemes_of(known, stemmer, "dog", "cats") == {"dog": ("dog",), "cats": ("cats", "cat")}
    assert stemmer.asked == ["dog", "foxes", "the", "cats"]


def test_numbers_are_neither_asked_for_nor_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "KEPT", 2)
    known, stemmer = Stems(), Stemmer()
    lexemes_of(known, stemmer, "dog", "cats")
    assert lexemes_of(known, stemmer, "1", "2", "dog") == {
        "1": ("1",),
        "2": ("2",),
        "dog": ("dog",),
    }
    lexemes_of(known, stemmer, "cats")
    assert stemmer.asked == ["cats", "dog"]


def test_a_full_store_keeps_the_words_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "KEPT", 2)
    known, stemmer = Stems(), Stemmer()
    lexemes_of(known, stemmer, "dog", "cats")
    assert lexemes_of(known, stemmer, "dog", "birds") == {
        "dog": ("dog",),
        "birds": ("birds", "bird"),
    }
    lexemes_of(known, stemmer, "cats")
    assert stemmer.asked == ["cats", "dog", "birds", "cats"]


def test_a_language_without_a_stemmer_has_the_words_themselves() -> None:
    stemmer = Stemmer()
    assert lexemes_of(Stems(), stemmer, "foxes", language="ja-JP") == {"foxes": ("foxes",)}
    assert stemmer.asked == []
