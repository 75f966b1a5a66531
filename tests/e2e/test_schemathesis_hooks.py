"""The hooks ignore the deviations they name, and no others."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.e2e.schemathesis_hooks import FIELDS, filter_failure, map_body

POSITION = {"X-Content-Position": "A" * 32}


def case(*wrong: str, unknown: tuple[str, ...] = (), **parts: Any) -> Any:
    """A request in which the ``wrong`` parameters violate the document. ``unknown`` has the
    locations of unknown parameters."""
    mutations = [
        *(Made(parameter=name, parameter_location="header", keywords=("enum",)) for name in wrong),
        *(
            Made(parameter=None, parameter_location=place, keywords=("additionalProperties",))
            for place in unknown
        ),
    ]
    data = Made(parameter=wrong[0] if len(wrong) == 1 else None, mutations=mutations)
    parts = {"method": "GET", "path": "/v1/content", "query": {}, "headers": {}, **parts}
    return Made(**parts, meta=Made(phase=Made(data=data)))


def forgiven(code: str, request: Any, status: int, text: str = "") -> bool:
    return not filter_failure(None, Made(code=code), request, Made(status_code=status, text=text))


@pytest.mark.parametrize("text", ["Unknown X-Content-Position", "X-Content-Position is beyond"])
def test_a_position_may_be_refused_and_nothing_else_because_there_is_one(text: str) -> None:
    assert forgiven("ST202", case(headers=POSITION), 400, text)
    assert not forgiven("ST202", case(headers=POSITION), 400, "Unknown status 'published'")
    assert not forgiven("ST202", case(headers=POSITION), 500, text)
    assert not forgiven("ST201", case(headers=POSITION), 400, text)
    assert forgiven("ST202", case(headers=POSITION, method="HEAD"), 400)
    assert not forgiven("ST202", case(method="HEAD"), 400)


def test_the_header_s_environment_may_be_wrong_beside_the_query_s_and_nothing_else() -> None:
    twice: Any = {"query": {"environment": "staging"}, "headers": {"X-Environment": "x"}}
    assert forgiven("ST201", case("X-Environment", **twice), 200)
    assert not forgiven("ST201", case("X-Environment", headers=twice["headers"]), 200)
    assert not forgiven("ST201", case("status", **twice), 200)
    assert not forgiven("ST201", case("X-Environment", "status", **twice), 200)
    assert not forgiven("ST202", case("X-Environment", **twice), 400)
    assert forgiven("ST201", case("X-Environment", unknown=("query", "header"), **twice), 200)
    assert not forgiven("ST201", case("X-Environment", unknown=("body",), **twice), 200)
    assert forgiven("ST201", case("X-Environment", "limit", "offset", **twice), 200)


def test_only_values_that_count_as_absent_may_be_sent() -> None:
    assert forgiven("ST201", case("limit", query={"limit": "x"}), 200)
    assert forgiven("ST201", case("locale", "offset", query={"locale": "", "offset": "x"}), 200)
    assert not forgiven("ST201", case("locale", query={"locale": "xx"}), 200)
    assert not forgiven("ST201", case("limit", "locale", query={"locale": "xx"}), 200)
    assert not forgiven("ST201", case("slug"), 200)
    assert not forgiven("ST202", case("limit", query={"limit": "x"}), 400)


def test_only_head_and_preflights_are_answered_outside_of_the_document() -> None:
    assert forgiven("ST205", case(method="OPTIONS"), 204)
    assert forgiven("ST205", case(method="HEAD"), 200)
    assert not forgiven("ST205", case(method="PATCH"), 200)


def test_only_graphql_may_answer_200_to_invalid_requests() -> None:
    request = case("Idempotency-Key", method="POST", path="/graphql")
    assert forgiven("ST201", request, 200)
    assert not forgiven("ST201", case("Idempotency-Key", method="POST"), 200)
    assert not forgiven("ST202", request, 200)
    assert not forgiven("ST201", request, 500)


def test_most_unknown_slugs_become_fields_but_some_are_sent() -> None:
    unknown = [chr(ord("!") + n) * length for n in range(90) for length in (1, 2, 3)]
    sent = [next(iter(map_body(None, {"fields": {slug: 7}})["fields"])) for slug in unknown]
    assert {slug for slug in sent if slug not in unknown} == set(FIELDS)
    assert 0 < sum(slug in unknown for slug in sent) < len(unknown) / 4
    assert map_body(None, {"fields": {"views": 7}}) == {"fields": {"views": 7}}
    assert map_body(None, {"fields": None}) == {"fields": None}
