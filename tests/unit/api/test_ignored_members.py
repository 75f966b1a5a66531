"""The header that lists ignored members: a valid header value, bounded and complete."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from api.rest.ignored_members import HEADER, MAX_LENGTH, ignored_header, ignored_names
from tests.unit.samples import ENTRY, OPERATOR, SCOPE, raws, type_created
from write_side.commands import UpdateEntry
from write_side.dispatch import CommandResult
from write_side.domain.content_type import evolve
from write_side.domain.definition import Field
from write_side.domain.events import Translation

FIELDS = (
    Field("intro", "Intro", "section"),
    Field("body", "Body", "text"),
    Field("meta", "Meta", "json"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Question", "text"),)),
)


EXECUTED = CommandResult(content_type=evolve(None, type_created(*FIELDS)))


def header_of(command: UpdateEntry) -> str | None:
    return ignored_header(ignored_names(command, EXECUTED)).get(HEADER)


def shown(**values: Any) -> str | None:
    return header_of(update(fields=raws(**values)))


def update(**changes: Any) -> UpdateEntry:
    return UpdateEntry(actor=OPERATOR, scope=SCOPE, entry_id=ENTRY, **changes)


def test_a_known_member_is_not_named() -> None:
    assert shown() is None
    assert shown(body="x", meta={"any": 1}, faq=[{"q": "x"}]) is None
    assert shown(faq=None) is None


def test_unknown_members_and_sections_are_named_as_they_were_sent() -> None:
    assert (
        shown(body="x", bdoy="x", intro=1, **{"Größe, x": 1})
        == "bdoy, intro, Gr%C3%B6%C3%9Fe%2C%20x"
    )


def test_members_inside_a_repeater_are_named_once() -> None:
    assert shown(faq=[{"q": "x", "a": 1}, {"a": 2, "b": 3}, {}]) == "faq.a, faq.b"
    assert shown(faq=[{"a": "x" * 70_000}]) is None


def test_members_of_a_translation_are_named_with_their_locale() -> None:
    french = Translation(None, raws(body="x", bdoy="x", meta=1, faq=[{"q": "x", "a": 1}]))
    german = Translation("T", raws(bdoy="x"))
    command = update(fields=raws(bdoy="x"), translations={"fr-FR": french, "de-DE": german})
    assert header_of(command) == (
        "bdoy, translations.fr-FR.bdoy, translations.fr-FR.meta, translations.fr-FR.faq.a, "
        "translations.de-DE.bdoy"
    )


def test_names_beyond_the_limit_are_counted() -> None:
    assert shown(**{f"n{number:03}": 1 for number in range(300)}) == ", ".join(
        [*(f"n{number:03}" for number in range(166)), "+134"]
    )
    assert shown(**{"x" * 5_000: 1}) == "+1"


@given(st.dictionaries(st.text(min_size=1), st.none(), min_size=1, max_size=40))
def test_the_header_is_ascii_bounded_and_readable(values: dict[str, Any]) -> None:
    header = shown(**{f"?{name}": value for name, value in values.items()})
    assert header is not None
    assert re.fullmatch(r"[\w%.~+, -]+", header, re.ASCII)
    assert len(header) <= MAX_LENGTH + 10
    names = [unquote(name) for name in header.split(", ") if not name.startswith("+")]
    assert set(names) <= {f"?{name}" for name in values}
