"""A page shows a bounded part of a value, and every part has a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec import Raw, json

from api.dashboard.excerpts import (
    CHARACTERS,
    ITEMS,
    PAGE_CHARACTERS,
    PAGE_VALUES,
    SHORT,
    Excerpt,
    Truncator,
    value_at,
)
from api.dashboard.values import MAX_INDENTED, ReferenceTargets, display_value, readable
from read_side.refusals import EntryNotFound
from write_side.domain.definition import Field, Option
from write_side.domain.values import text_of, texts_of

BODY = Field("body", "Body", "rich_text")
META = Field("meta", "Meta", "json")
TAGS = Field("tags", "Tags", "select", multiple=True, options=(Option("a", "A"),))
RELATED = Field("related", "Related", "reference", multiple=True)
ROWS = Field("rows", "Rows", "repeater", fields=(Field("a", "A", "text"), BODY, RELATED))
NOTHING = ReferenceTargets({}, {})


def raw(value: object) -> Raw:
    return Raw(json.encode(value))


def excerpt(field: Field, value: object, start: int = 0) -> Excerpt:
    return Truncator().excerpt(field, raw(value), field.slug, start)


def leaves(shown: Excerpt) -> Iterator[Excerpt]:
    yield shown
    for element in shown.elements:
        for one in element:
            yield from leaves(one)


def pages(field: Field, value: object) -> Iterator[Excerpt]:
    start = 0
    while True:
        shown = excerpt(field, value, start)
        yield shown
        assert shown.end > start
        if shown.end == shown.total:
            return
        start = shown.end


def test_a_value_that_fits_is_not_cut() -> None:
    for field, value in ((BODY, "x" * CHARACTERS), (TAGS, ["a"] * ITEMS), (META, {"a": [1]})):
        assert excerpt(field, value).is_whole


def test_pages_of_a_text_have_all_of_it() -> None:
    text = "".join(map(chr, range(0x20, 0x3000))) * 4
    assert "".join(text_of(one.value) for one in pages(BODY, text)) == text


def test_pages_of_json_have_all_of_it() -> None:
    value = [{"é": number} for number in range(5_000)]
    parts = [bytes(one.value).decode() for one in pages(META, value)]
    assert len(parts) > 1
    assert "".join(parts) == json.encode(value).decode()


def test_pages_of_a_list_have_all_of_it() -> None:
    ids = [str(number) for number in range(950)]
    assert [one for page in pages(RELATED, ids) for one in texts_of(RELATED, page.value)] == ids


def test_pages_of_a_repeater_have_all_of_it() -> None:
    rows = [{"a": str(number)} for number in range(950)]
    shown = [element for page in pages(ROWS, rows) for element in page.elements]
    assert [text_of(element[0].value) for element in shown] == [row["a"] for row in rows]
    assert shown[-1][0].path == "rows.949.a"


@pytest.mark.parametrize(
    "rows",
    [
        [{}] * 500_000,
        [{"a": "x" * 9_000, "body": "<b>" + "<a " * 3_000}] * 100,
        [{"related": ["id"] * 300}] * 100,
    ],
)
def test_a_page_is_limited_for_any_repeater(rows: list[object]) -> None:
    shown = list(leaves(excerpt(ROWS, rows)))
    texts = [text_of(one.value) for one in shown if bytes(one.value).startswith(b'"')]
    assert len(shown) <= PAGE_VALUES
    assert sum(map(len, texts)) <= PAGE_CHARACTERS + SHORT * len(texts)
    assert sum(len(list(one.targets("entry"))) for one in shown[1:]) <= PAGE_VALUES


def test_a_cut_value_inside_an_element_has_its_own_page() -> None:
    values = {"rows": raw([{"a": "x"}, {"body": "y" * 50_000}])}
    shown = excerpt(ROWS, json.decode(values["rows"]))
    cut = next(one for one in leaves(shown) if not one.is_whole)
    assert cut.path == "rows.1.body"
    field, value = value_at([ROWS], values, cut.path)
    assert (field, len(text_of(value))) == (BODY, 50_000)


@pytest.mark.parametrize(
    "path",
    ["", "x", "rows.2.a", "rows.-1.a", "rows.x.a", "rows.0", "rows.0.x", "body.0.a", "rows.²"],
)
def test_an_unknown_path_is_not_found(path: str) -> None:
    with pytest.raises(EntryNotFound):
        value_at([ROWS, BODY], {"rows": raw([{"a": "x"}]), "body": raw("x")}, path)


def test_json_is_indented_unless_its_depth_would_multiply_it() -> None:
    deep = Raw(b"[" * 250 + b"1," * 4_000 + b"1" + b"]" * 250)
    shown = display_value(Truncator().excerpt(META, deep, "meta"), NOTHING)
    assert len(shown.text) < MAX_INDENTED
    assert display_value(excerpt(META, {"a": 1}), NOTHING).text == '{\n  "a": 1\n}'


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (r'"\u6f22\u5b57 \u05e9"', '"漢字 ש"'),
        (r'"\ud83d\ude42"', '"🙂"'),
        (r'"\\u6f22"', r'"\\u6f22"'),
        (r'"\\\u6f22"', r'"\\漢"'),
        (r'"\ud83d \ude42"', r'"\ud83d \ude42"'),
        (r'"\u0022\u005c\u0007\n\u202e\u200b"', r'"\u0022\u005c\u0007\n\u202e\u200b"'),
        (r'"\u6f2', r'"\u6f2'),
    ],
)
def test_letters_are_shown_in_place_of_their_escapes(stored: str, shown: str) -> None:
    assert readable(stored) == shown


def test_json_is_shown_with_letters() -> None:
    shown = Truncator().excerpt(META, Raw(rb'{"a": "\u6f22"}'), "meta")
    assert display_value(shown, NOTHING).text == '{\n  "a": "漢"\n}'


def test_a_flag_is_shown_when_the_page_is_full() -> None:
    truncator = Truncator()
    for _ in range(5):
        truncator.excerpt(BODY, raw("x" * CHARACTERS), "body")
    flag = truncator.excerpt(Field("f", "F", "boolean"), raw(True), "f")
    assert display_value(flag, NOTHING).text == "Yes"
