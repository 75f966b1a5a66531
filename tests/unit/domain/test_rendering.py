"""How an entry's values are returned (behaviour.md §2.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from tests.unit.samples import STAGES, raw, raws
from write_side.domain import rendering
from write_side.domain.definition import Field
from write_side.domain.rendering import Renderer

FAQ = Field(
    "faq", "Faq", "repeater", fields=(Field("q", "Q", "text"), Field("rank", "Rank", "number"))
)
FIELDS = (
    Field("body", "Body", "text"),
    Field("layout", "Layout", "section"),
    Field("views", "Views", "number"),
    Field("about", "About", "reference", multiple=True),
    Field("author", "Author", "reference"),
    FAQ,
    Field("colours", "Colours", "select", multiple=True),
    Field("pictures", "Pictures", "media", multiple=True),
    Field("lead", "Lead", "rich_text"),
)


OUTER = Field("outer", "Outer", "repeater", fields=(FAQ,))


def rendered(*fields: Field, **values: Any) -> Any:
    return json.loads(Renderer(fields).render(raws(**values)))


def translated(original: dict[str, Any], texts: dict[str, Any], *fields: Field) -> Any:
    renderer = Renderer(fields or FIELDS)
    merged = renderer.translated(raws(**original), raws(**texts))
    return {slug: json.loads(bytes(value)) for slug, value in merged.items()}


def test_every_field_of_the_type_is_there_in_its_order() -> None:
    body = rendered(*FIELDS, lead="Lead", views=7)
    assert list(body) == [
        "body",
        "views",
        "about",
        "author",
        "faq",
        "colours",
        "pictures",
        "lead",
    ]


def test_a_missing_value_is_null_or_an_empty_array() -> None:
    """Repeaters and references to many entries are empty arrays (§2.1 rule 2); all other fields are
    null."""
    nothing: dict[str, Any] = {
        "body": None,
        "views": None,
        "about": [],
        "author": None,
        "faq": [],
        "colours": None,
        "pictures": None,
        "lead": None,
    }
    assert rendered(*FIELDS) == nothing
    assert rendered(*FIELDS, **dict.fromkeys(nothing)) == nothing


def test_sections_are_never_in_fields() -> None:
    assert rendered(Field("layout", "Layout", "section"), layout="x") == {}


def test_values_of_fields_the_type_does_not_have_are_hidden() -> None:
    assert rendered(Field("body", "Body", "text"), body="B", gone="G") == {"body": "B"}


@pytest.mark.parametrize("times", [1, 100])
def test_fields_removed_from_inside_a_repeater_are_hidden_too(times: int) -> None:
    faq = [{"q": "Why?", "gone": 1}, {"gone": 2}, {"q": "How?", "rank": 3}]
    shown = [{"q": "Why?"}, {}, {"q": "How?", "rank": 3}]
    assert rendered(FAQ, faq=faq * times) == {"faq": shown * times}


@pytest.mark.parametrize("times", [1, 100])
def test_fields_removed_from_a_repeater_inside_a_repeater_are_hidden_too(times: int) -> None:
    value = [{"faq": None}, {}] * times + [{"faq": [{"q": "Why?", "gone": 1}]}]
    shown = [{"faq": None}, {}] * times + [{"faq": [{"q": "Why?"}]}]
    assert rendered(OUTER, outer=value) == {"outer": shown}


@pytest.mark.parametrize(
    "value",
    [b"1e400", b"0.10", b"-0", b'"\\u00e9"', b'{"b":1,"a":2,"b":3}', b'{"_type_":"x"}'],
)
def test_a_value_is_passed_through_unchanged(value: bytes) -> None:
    renderer = Renderer([Field("v", "V", "json")])
    assert renderer.render({"v": Raw(value)}) == b'{"v":' + value + b"}"


@pytest.mark.parametrize("times", [1, 100])
def test_repeaters_of_the_current_shape_are_passed_through_unchanged(times: int) -> None:
    value = b"[" + b",".join([b'{"rank":1.50,"q":"\\u00e9"}'] * times) + b"]"
    assert Renderer([FAQ]).render({"faq": Raw(value)}) == b'{"faq":' + value + b"}"


def test_the_elements_of_a_repeater_of_the_current_shape_are_not_checked_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rendering, "_shown_element", None)
    value = [{"faq": [{"q": "Why?"}]}, {"faq": None}, {}]
    assert rendered(OUTER, outer=value) == {"outer": value}


class TestTranslated:
    def test_texts_show_the_translation_and_other_fields_the_original(self) -> None:
        merged = translated(
            {"body": "Hello", "lead": "Lead", "views": 7},
            {"body": "Bonjour", "lead": "Chapeau", "views": 8},
        )
        assert merged == {"body": "Bonjour", "lead": "Chapeau", "views": 7}

    @pytest.mark.parametrize("absent", [{}, {"body": None}, {"body": ""}])
    def test_absent_null_and_empty_fall_back_to_the_original(self, absent: dict[str, Any]) -> None:
        assert translated({"body": "Hello"}, absent) == {"body": "Hello"}

    def test_fallback_is_per_field(self) -> None:
        merged = translated({"body": "Hello", "lead": "Lead"}, {"lead": "Chapeau"})
        assert merged == {"body": "Hello", "lead": "Chapeau"}

    def test_a_text_without_an_original_is_shown(self) -> None:
        assert translated({}, {"body": "Bonjour"}) == {"body": "Bonjour"}

    def test_repeaters_are_translated_element_by_element(self) -> None:
        merged = translated(
            {"faq": [{"q": "Why?", "rank": 1}, {"q": "How?", "rank": 2}]},
            {"faq": [{"q": "Pourquoi ?", "rank": 9}, {"q": ""}]},
        )
        assert merged["faq"] == [{"q": "Pourquoi ?", "rank": 1}, {"q": "How?", "rank": 2}]

    @pytest.mark.parametrize(
        "texts", [[], [{"q": "Pourquoi ?"}], [{"q": "a"}, {"q": "b"}, {"q": "c"}]]
    )
    def test_repeaters_of_other_lengths_fall_back_to_the_original(self, texts: Any) -> None:
        original = [{"q": "Why?"}, {"q": "How?"}]
        assert translated({"faq": original}, {"faq": texts})["faq"] == original

    def test_a_repeater_without_an_original_stays_empty(self) -> None:
        assert translated({}, {"faq": [{"q": "Pourquoi ?"}]}) == {}
        assert translated({"faq": None}, {"faq": [{"q": "x"}]}) == {"faq": None}

    def test_repeaters_inside_repeaters_are_translated(self) -> None:
        outer = Field("outer", "Outer", "repeater", fields=(FAQ, Field("n", "N", "number")))
        merged = translated(
            {"outer": [{"faq": [{"q": "Why?"}], "n": 1}, {"faq": [{"q": "a"}, {"q": "b"}]}]},
            {"outer": [{"faq": [{"q": "Pourquoi ?"}]}, {"faq": [{"q": "x"}]}]},
            outer,
        )
        assert merged["outer"] == [
            {"faq": [{"q": "Pourquoi ?"}], "n": 1},
            {"faq": [{"q": "a"}, {"q": "b"}]},
        ]

    def test_repeaters_without_texts_are_never_translated(self) -> None:
        numbers = Field("numbers", "Numbers", "repeater", fields=(Field("n", "N", "number"),))
        original = {"numbers": [{"n": 1}]}
        assert translated(original, {"numbers": [{"n": 2}]}, numbers) == original

    def test_the_original_is_unchanged(self) -> None:
        original = raws(body="Hello")
        Renderer(FIELDS).translated(original, raws(body="Bonjour"))
        assert original == {"body": raw("Hello")}


class TestStage:
    def test_without_a_workflow_the_stage_is_null(self) -> None:
        assert Renderer(FIELDS).stage("draft", "writing") is None

    def test_in_the_archive_the_stage_is_null(self) -> None:
        assert Renderer(FIELDS, STAGES).stage("archived", "review") is None

    def test_otherwise_the_stage_is_the_entrys_with_its_name(self) -> None:
        stage = Renderer(FIELDS, STAGES).stage("published", "review")
        assert stage == Raw(b'{"id":"review","name":"Review"}')

    @pytest.mark.parametrize("stage_id", [None, "gone"])
    def test_a_missing_or_removed_stage_is_the_first(self, stage_id: str | None) -> None:
        stage = Renderer(FIELDS, STAGES).stage("draft", stage_id)
        assert stage == Raw(b'{"id":"writing","name":"Writing"}')
