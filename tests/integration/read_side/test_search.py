"""Searches in a small read model, written by the projector."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection
from typing import Any

import pytest
from msgspec.structs import replace

from projector.rebuild import operations
from read_side import search
from read_side.search import Kind, SearchResult
from tests.integration.live_projector import connected, project_all
from tests.integration.projector.rebuilds import build_settings, silent
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.words import _DICTIONARIES, search_words, words
from write_side.postgres.connection import Connection
from write_side.repository import Repository

SCOPE = Scope("acme", "production")
BODY = Field("body", "Body", "rich_text", searchable=True)
NOTE = Field("note", "Note", "text")

NEWER = {"estonian"}
"""Stemmers that PostgreSQL 15 does not have."""
STEMMERS = "SELECT 'pg_catalog.' || dictname FROM pg_ts_dict WHERE dictname LIKE '%_stem'"
SIZES = "SELECT pg_column_size(words) AS size FROM read_model.entry_search ORDER BY position DESC"
NUMBERS_CHANGED = """
SELECT count(*) FROM unnest($2::text[]) AS word
WHERE ts_lexize($1::text::regdictionary, word) IS DISTINCT FROM ARRAY[word]"""
_KINDS = """
SELECT content_type_id::text, status, language FROM read_model.entry_count
WHERE workspace = $1 AND environment = $2 AND filters = 3 AND level = 0"""
_SLUGS = """
SELECT position, slug FROM read_model.entry WHERE workspace = $1 AND environment = $2"""


async def kinds_of(connection: Connection, scope: Scope) -> list[Kind]:
    rows = await connection.fetch(_KINDS, scope.workspace, scope.environment)
    return [tuple(row) for row in rows]


async def searched(
    url: str,
    text: str,
    locale: str = "",
    *,
    scope: Scope = SCOPE,
    statuses: Collection[str] = ("published", "draft", "archived"),
) -> SearchResult:
    async with connected(url) as connection:
        kinds = [kind for kind in await kinds_of(connection, scope) if kind[1] in statuses]
        return await search.search(connection.fetch, scope, text, kinds, locale)


async def found_slugs(
    url: str, text: str, locale: str = "", *, scope: Scope = SCOPE, by_rank: bool = False
) -> list[str]:
    """The slugs of the entries, newest first or by rank."""
    found = await searched(url, text, locale, scope=scope)
    positions = found.positions
    if by_rank:
        ranked = sorted(zip(found.ranks, positions, strict=True), reverse=True)
        positions = [position for _, position in ranked]
    async with connected(url) as connection:
        rows = await connection.fetch(_SLUGS, scope.workspace, scope.environment)
    slugs = {row["position"]: row["slug"] for row in rows}
    return [slugs[position] for position in positions]


@pytest.fixture
async def builder(repository: Repository) -> ContentBuilder:
    builder = ContentBuilder(repository)
    await builder.workspace(staging=True)
    await builder.content_type(BODY, NOTE)
    return builder


async def test_only_the_newest_texts_within_the_limit_are_ranked(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await builder.entry("title", title="Alpha")
    await builder.entry("french", fields=raws(body="alpha " * 9), language="fr-FR")
    await builder.entry("once", fields=raws(body="alpha"))
    await builder.entry("twice", fields=raws(body="alpha alpha"))
    await project(database_url)
    assert await found_slugs(database_url, "alpha", by_rank=True) == [
        "title",
        "french",
        "twice",
        "once",
    ]
    async with connected(database_url) as connection:
        sizes = [row["size"] for row in await connection.fetch(SIZES)]
    for number in range(5):
        monkeypatch.setattr(search, "MOST_BYTES", sum(sizes[:number]))
        ranks = (await searched(database_url, "alpha")).ranks
        assert [rank > 0 for rank in ranks] == [n < number for n in range(4)]


async def test_no_stemmer_changes_a_number(database_url: str) -> None:
    async with connected(database_url) as connection:
        stemmers = await connection.fetch(STEMMERS)
        for (stemmer,) in stemmers:
            assert (
                await connection.fetchval(NUMBERS_CHANGED, stemmer, ["0", "7", "2026", "1" * 60])
                == 0
            )
    languages = {name.removeprefix("pg_catalog.").removesuffix("_stem") for (name,) in stemmers}
    assert languages - NEWER == set(_DICTIONARIES.values()), "each is used"


async def project(url: str) -> None:
    await project_all(url, url)


async def verified(url: str) -> bool:
    result = await operations.verify(build_settings(url, workers=1), silent)
    return result.read_model == [] and result.not_compared is None


SCRIPTS = [
    ("en-US", "Running in the woods", ["run", "woods running", "runn", "the wood", "in the"]),
    ("de-DE", "Die Häuser am Fluss", ["haus", "häus", "HÄUSERN flu", "die"]),
    ("fr-FR", "L'été des chevaux", ["été", "cheval", "l'été", "cheva"]),
    ("hi-IN", "हिन्दी में किताबें", ["हिन्दी", "किताब", "में"]),
    ("ar-EG", "كِتَابٌ جديد", ["كتاب", "كتا", "جديد كتاب"]),
    ("ja-JP", "東京都の天気", ["東京", "京都", "天気", "気", "東京 天"]),
    ("zh-CN", "北京大学 2026", ["大学", "京大", "北京 2026"]),
    ("th-TH", "ภาษาไทยง่าย", ["ไทย", "ภาษา", "ง่าย"]),
    ("ko-KR", "서울에서 만나요", ["서울", "서울에서 만"]),
    ("tr-TR", "IŞIK ve İstanbul", ["ışık", "istan", "İSTANBUL"]),
    ("pl-PL", "Zażółć gęślą jaźń", ["zażółć", "GĘŚL"]),
    ("en-GB", "❤️ Ⅷ ﬁne x² 3.14", ["viii", "fine", "x2", "14"]),
]


@pytest.mark.slow
async def test_words_are_found_in_every_script(builder: ContentBuilder, database_url: str) -> None:
    for number, (language, title, _) in enumerate(SCRIPTS):
        await builder.entry(f"e-{number}", title=title, language=language)
    await project(database_url)
    for number, (_, title, texts) in enumerate(SCRIPTS):
        for text in texts:
            assert f"e-{number}" in await found_slugs(database_url, text), (title, text)


async def test_other_texts_are_not_found(builder: ContentBuilder, database_url: str) -> None:
    await builder.entry("one", title="Running in the woods")
    await builder.entry("two", title="東京都")
    await project(database_url)
    for text in ("ran", "unning", "woods house", "都東", "ru woods", "!!!", "★", "x" * 200):
        assert await found_slugs(database_url, text) == [], text


async def test_a_stop_word_counts_only_alone(builder: ContentBuilder, database_url: str) -> None:
    await builder.entry("who", title="The Who")
    await builder.entry("rings", title="Lord of Rings")
    await builder.entry("body", title="Other", fields=raws(body="the"))
    await project(database_url)
    assert await found_slugs(database_url, "the") == ["who"]
    assert await found_slugs(database_url, "the lord of the") == ["rings"]


async def test_markup_is_not_searched(builder: ContentBuilder, database_url: str) -> None:
    html = "<p class='secret'>Half<b>way</b></p><li>caf&eacute;<script>hidden()</script>"
    await builder.entry("one", fields=raws(body=html, note="invisible"))
    await project(database_url)
    for text in ("halfway", "café"):
        assert await found_slugs(database_url, text) == ["one"]
    for text in ("secret", "hidden", "class", "invisible", "script"):
        assert await found_slugs(database_url, text) == []


async def test_the_title_counts_most_and_repetition_counts(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.entry("title", title="Whale")
    await builder.entry("often", title="Other", fields=raws(body="whale " * 5))
    await builder.entry("once", title="Other", fields=raws(body="a whale"))
    await project(database_url)
    assert await found_slugs(database_url, "whale", by_rank=True) == ["title", "often", "once"]


async def test_a_translation_stands_for_the_original(
    builder: ContentBuilder, database_url: str
) -> None:
    one = await builder.entry("one", title="House", fields=raws(body="garden"))
    await builder.entry("two", title="House")
    await builder.translate(one, "de-DE", title="Häuser")
    await project(database_url)
    assert await found_slugs(database_url, "house") == ["two", "one"]
    assert await found_slugs(database_url, "house", "de-DE") == ["two"]
    assert await found_slugs(database_url, "haus", "de-DE") == ["one"]
    assert await found_slugs(database_url, "garden", "de-DE") == ["one"], "the merged text"
    assert await found_slugs(database_url, "haus") == []
    assert await found_slugs(database_url, "house", "en-US") == ["two", "one"], "its own language"


async def test_rows_follow_every_change(builder: ContentBuilder, database_url: str) -> None:
    """After each change, the rows are those that a rebuild would write."""
    one = await builder.entry("one", title="First", fields=raws(body="alpha"))
    changes: list[dict[str, Any]] = [
        {"title": "Second"},
        {"fields": raws(body="beta")},
        {"status": "published"},
        {"status": "archived", "title": "Third"},
        {"translations": {"fr-FR": Translation("Quatre", raws(body="gamma"))}},
        {"translations": {"de-DE": Translation("Fünf")}, "status": "draft"},
        {"translations": {"fr-FR": Translation("", raws(body=""))}},
        {"fields": raws(note="irrelevant")},
    ]
    for change in changes:
        await builder.update(one, **change)
        await project(database_url)
        assert await verified(database_url), change
    assert await found_slugs(database_url, "beta third") == ["one"]
    assert await found_slugs(database_url, "quatre", "fr-FR") == []
    assert [kind[1] for kind in (await searched(database_url, "third")).kinds] == ["draft"]
    await builder.delete(one)
    await project(database_url)
    assert await found_slugs(database_url, "third") == []
    assert await verified(database_url)


async def test_a_newly_searchable_field_is_filled(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.entry("one", fields=raws(body="alpha", note="beta"))
    await project(database_url)
    assert await found_slugs(database_url, "beta") == []
    await builder.revise_type(replace(BODY, searchable=False), replace(NOTE, searchable=True))
    await project(database_url)
    assert await found_slugs(database_url, "beta") == ["one"]
    assert await found_slugs(database_url, "alpha") == []
    assert await verified(database_url)


async def test_workspaces_and_environments_are_isolated(
    repository: Repository, database_url: str
) -> None:
    scopes = [SCOPE, Scope("acme", "staging"), Scope("other", "production")]
    for scope in scopes:
        builder = ContentBuilder(repository, scope)
        if scope.environment == "production":
            await builder.workspace(staging=True)
        else:
            await builder.execute(c.AddEnvironment, scope=scope)
        await builder.content_type(BODY)
        await builder.entry("e", title=f"Shared {scope.workspace}{scope.environment}")
    await project(database_url)
    for scope in scopes:
        assert len(await found_slugs(database_url, "shared", scope=scope)) == 1
        others = [one for one in scopes if one != scope]
        for other in others:
            word = f"{other.workspace}{other.environment}"
            assert await found_slugs(database_url, word, scope=scope) == []


@pytest.mark.slow
async def test_no_text_stops_the_projector(builder: ContentBuilder, database_url: str) -> None:
    letters = "".join(chr(code) for code in range(0x4E00, 0x9000))
    texts = [
        "word " * 200_000,
        "x" * 1_000_000,
        " ".join(f"w{number}" for number in range(150_000)),
        (letters * 20)[:300_000],
        " ".join(map("".join, itertools.islice(itertools.product(letters[:99], repeat=3), 99_000))),
        " ".join(chr(0x20000 + n) + chr(0x21000 + n) + "a" for n in range(30_000)),
        "<" * 1_000_000,
        "<b><i>" * 150_000,
        "&amp;" * 200_000,
        "' \\ : ! & | ( ) <-> * # \t\n\r\f\v \u2028 \u00a0 \u3000",
        "\u0301\u0301 e\u0301 \ufdfa" * 50_000,
    ]
    for number, text in enumerate(texts):
        await builder.entry(f"e-{number}", title=f"Entry {number}", fields=raws(body=text))
    await project(database_url)
    assert len(await found_slugs(database_url, "entry")) == len(texts)
    assert "e-1" in await found_slugs(database_url, "x" * 200)
    assert "e-2" in await found_slugs(database_url, "w777 entr")


WORDS = ["anna", "ben", "carla", "carl", "dora", "be", "an", "東京", "ดี"]


@pytest.mark.parametrize("many", [40, pytest.param(150, marks=pytest.mark.slow)])
async def test_every_search_agrees_with_a_naive_one(
    many: int, builder: ContentBuilder, database_url: str
) -> None:
    """In a language without a stemmer."""
    rng = random.Random(7)
    titles = [" ".join(rng.choices(WORDS, k=rng.randint(1, 4))) for _ in range(many)]
    for number, title in enumerate(titles):
        await builder.entry(f"e-{number}", title=title, language="pl-PL")
    await project(database_url)
    for _ in range(many):
        text = " ".join(rng.choices([*WORDS, "c", "carlo", "京"], k=rng.randint(1, 3)))
        expected = [
            f"e-{n}" for n, title in reversed(list(enumerate(titles))) if matches(title, text)
        ]
        assert await found_slugs(database_url, text) == expected, text


def matches(title: str, text: str) -> bool:
    there, wanted = words(title, "pl-PL"), search_words(text, "pl-PL")
    return all(word in there for word in wanted.whole) and all(
        any(word.startswith(beginning) for word in there) for beginning in wanted.beginnings
    )
