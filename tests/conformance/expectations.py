"""Expectations of a response that a row of the conformance tables can have besides its status."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from tests.conformance.cases import Expectation
from tests.integration.api.server import Answer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
EXPOSED = {*LIMITS, "Retry-After", "ETag", "X-Request-Id"}


def entries_of(answer: Answer) -> list[Any]:
    """Returns the entries of a list, or the single entry."""
    data = answer.body["data"]
    return data if isinstance(data, list) else [data]


def envelope(*properties: str) -> Expectation:
    """The body is an object with exactly these properties, in this order."""

    def expect(answer: Answer) -> None:
        assert list(answer.body) == list(properties)

    return expect


def success(answer: Answer) -> None:
    assert answer.body["success"] is True


def pagination(**expected: int) -> Expectation:
    def expect(answer: Answer) -> None:
        shown = answer.body["pagination"]
        assert {name: shown[name] for name in expected} == expected

    return expect


def whole_pagination(limit: int, offset: int, total: int) -> Expectation:
    """The pagination has exactly these three integers."""

    def expect(answer: Answer) -> None:
        shown = answer.body["pagination"]
        assert shown == {"limit": limit, "offset": offset, "total": total}
        assert {type(value) for value in shown.values()} == {int}

    return expect


def slugs(*expected: str) -> Expectation:
    """The list has exactly these entries, in this order."""

    def expect(answer: Answer) -> None:
        assert [entry["slug"] for entry in entries_of(answer)] == list(expected)

    return expect


def count(expected: int) -> Expectation:
    """The page has this number of entries."""

    def expect(answer: Answer) -> None:
        assert len(answer.body["data"]) == expected

    return expect


def every_entry(name: str, fits: Callable[[Any], bool] | Any) -> Expectation:
    """There is at least one entry; each has the property with a fitting value."""

    def expect(answer: Answer) -> None:
        entries = entries_of(answer)
        assert entries
        for entry in entries:
            assert fits(entry[name]) if callable(fits) else entry[name] == fits, entry[name]

    return expect


def properties(expected: Iterable[str]) -> Expectation:
    """There is at least one entry; each has exactly these properties."""

    def expect(answer: Answer) -> None:
        assert {frozenset(entry) for entry in entries_of(answer)} == {frozenset(expected)}

    return expect


def none_has(name: str) -> Expectation:
    def expect(answer: Answer) -> None:
        entries = entries_of(answer)
        assert entries
        assert not any(name in entry for entry in entries)

    return expect


def values_of(name: str, *expected: Any) -> Expectation:
    """The entries have these values of the property, in this order."""

    def expect(answer: Answer) -> None:
        assert [entry[name] for entry in entries_of(answer)] == list(expected)

    return expect


def entry(**expected: Any) -> Expectation:
    """The single or first entry has these properties."""

    def expect(answer: Answer) -> None:
        shown = entries_of(answer)[0]
        assert {name: shown[name] for name in expected} == expected

    return expect


def fields(**expected: Any) -> Expectation:
    """The single or first entry has these fields, possibly among others."""

    def expect(answer: Answer) -> None:
        shown = entries_of(answer)[0]["fields"]
        assert {name: shown[name] for name in expected} == expected

    return expect


def all_fields(expected: dict[str, Any]) -> Expectation:
    """The single or first entry has exactly these fields, in this order."""

    def expect(answer: Answer) -> None:
        shown = entries_of(answer)[0]["fields"]
        assert shown == expected
        assert list(shown) == list(expected)

    return expect


def field_slugs(expected: Iterable[str]) -> Expectation:
    """Every entry has exactly the fields with these slugs, in this order."""

    def expect(answer: Answer) -> None:
        for entry in entries_of(answer):
            assert list(entry["fields"]) == list(expected)

    return expect


def newest_first(answer: Answer) -> None:
    """There are at least two entries, the newest created first."""
    times = [entry["createdAt"] for entry in entries_of(answer)]
    assert times == sorted(times, reverse=True)
    assert len(times) > 1


def says(*words: str) -> Expectation:
    """The body is the error envelope; its message contains each of these texts."""

    def expect(answer: Answer) -> None:
        assert list(answer.body) == ["error"]
        for word in words:
            assert word in answer.body["error"]

    return expect


def error(message: str) -> Expectation:
    """The body is the error envelope with this message."""

    def expect(answer: Answer) -> None:
        assert answer.body == {"error": message}

    return expect


def header(name: str, expected: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert answer.headers.get(name) == expected

    return expect


def no_header(name: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert name not in answer.headers

    return expect


def is_json(answer: Answer) -> None:
    assert answer.headers["Content-Type"] == "application/json"
    assert isinstance(answer.body, dict)


def open_to_any_origin(answer: Answer) -> None:
    """A script can read the headers that it needs to pace itself, to retry and to report errors."""
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert set(answer.headers["Access-Control-Expose-Headers"].split(", ")) >= EXPOSED


def without_cors(answer: Answer) -> None:
    assert [name for name in answer.headers if name.lower().startswith("access-control-")] == []


def limits_shown(answer: Answer) -> None:
    shown = [answer.headers[name] for name in LIMITS]
    assert all(map(str.isdecimal, shown))
    limit, remaining, reset = map(int, shown)
    assert 0 <= remaining <= limit
    assert reset % 60 == 0


def carries_all_headers(answer: Answer) -> None:
    """The response has the headers of every response, including errors."""
    limits_shown(answer)
    assert answer.headers["X-Request-Id"]
    assert answer.headers["Content-Type"] == "application/json"
    assert ("Retry-After" in answer.headers) == (answer.status in (429, 503))


OPEN = (carries_all_headers, open_to_any_origin)
"""A response on a path that any origin may use."""
CLOSED = (carries_all_headers, without_cors)
"""A response on /v1/content."""


def is_time(value: Any) -> bool:
    return isinstance(value, str) and TIME.fullmatch(value) is not None


def is_time_or_null(value: Any) -> bool:
    return value is None or is_time(value)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def is_object_of_texts(*names: str) -> Callable[[Any], bool]:
    """The object has exactly these properties, and each is a string."""

    def fits(value: Any) -> bool:
        return set(value) == set(names) and all(map(is_text, value.values()))

    return fits
