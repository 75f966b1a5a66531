"""Named exceptions, each with a reason, where schemathesis' checks contradict the specification.

All checks are on. A failure is dropped only if one of these exceptions covers it. Schemathesis
loads this module through schemathesis.toml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import schemathesis

from write_side.domain.locales import supported_locales

_PAGING = ("limit", "offset")
FIELDS = ("body", "views", "featured", "goes_live", "category", "related", "meta", "faq")
Case = Any
Response = Any


class Contradiction(NamedTuple):
    """An exception. ``code`` is schemathesis' code for the failure: ST201 means that invalid data
    was accepted, ST202 that valid data was refused."""

    code: str
    reason: str
    holds: Callable[[Case, Response], bool]


def _is_refused(status: int, *words: str) -> Callable[[Case, Response], bool]:
    def holds(_case: Case, response: Response) -> bool:
        return response.status_code == status and any(word in response.text for word in words)

    return holds


def _locale_is_unknown(case: Case, response: Response) -> bool:
    locale = (case.query or {}).get("locale")
    return response.status_code == 400 and locale not in ("", None, *supported_locales())


def _position_is_refused(case: Case, response: Response) -> bool:
    """A response to HEAD has no body to inspect. GET is tested with the same parameters."""
    name = "X-Content-Position"
    names_it = (case.headers or {}).get(name) if case.method == "HEAD" else name in response.text
    return response.status_code == 400 and bool(names_it)


def _change_is_refused(case: Case, response: Response) -> bool:
    token = (case.headers or {}).get("Last-Event-ID") or (case.query or {}).get("after")
    is_named = case.method == "HEAD" or any(
        name in response.text for name in ("Unknown after", "Unknown Last-Event-ID")
    )
    return response.status_code == 400 and bool(token) and is_named


def _time_is_refused(case: Case, response: Response) -> bool:
    as_of = (case.query or {}).get("asOf") if case.method == "HEAD" else "asOf" in response.text
    return response.status_code == 400 and bool(as_of)


def _is_of_query(name: str) -> bool:
    return name.startswith("filter[") or name in ("sort", "cursor", "total")


def _query_is_refused(case: Case, response: Response) -> bool:
    return response.status_code == 400 and any(map(_is_of_query, case.query or {}))


def _filter_is_text(case: Case, _response: Response) -> bool:
    """Only filters violate the document in this request."""
    wrong = case.meta.phase.data
    mutated = [one for one in wrong.mutations if not _is_ignored(one)] or [wrong]
    return all(str(one.parameter).startswith("filter[") for one in mutated)


def _shape_is_refused(case: Case, response: Response) -> bool:
    names = [name for name in ("select", "include") if (case.query or {}).get(name)]
    is_named = case.method == "HEAD" or any(f" in {name}" in response.text for name in names)
    return response.status_code == 400 and bool(names) and is_named


def _is_ignored(mutation: Any) -> bool:
    """The mutation is an unknown parameter. Schemathesis does not report one that is the only
    mutation."""
    unknown = mutation.keywords == ("additionalProperties",)
    return unknown and mutation.parameter_location in ("query", "header")


def _is_graphql(case: Case, response: Response) -> bool:
    return bool(case.path == "/graphql" and response.status_code == 200)


def _is_outside_of_the_document(case: Case, _response: Response) -> bool:
    return case.method in ("HEAD", "OPTIONS")


def _counts_as_absent(case: Case, _response: Response) -> bool:
    """Only paging, empty values, and a header that the query overrides violate the document in this
    request."""
    wrong = case.meta.phase.data
    mutated = [one for one in wrong.mutations if not _is_ignored(one)] or [wrong]
    query = case.query or {}
    parameters = {**query, **(case.headers or {})}
    ignored = (*_PAGING, "X-Environment") if query.get("environment") else _PAGING
    return all(
        one.parameter in ignored or parameters.get(one.parameter, "something") in ("", None)
        for one in mutated
    )


def _is_form_of_import(case: Case, response: Response) -> bool:
    return bool(case.path == "/v1/imports" and response.status_code == 400)


CONTRADICTIONS = (
    Contradiction(
        "ST201",
        "GraphQL reports errors inside its response body, which HTTP calls a success (§7); and "
        "what only mutations read is not looked at for a query",
        _is_graphql,
    ),
    Contradiction(
        "ST205",
        "HEAD and preflights are left out of the document, for the sake of generated clients",
        _is_outside_of_the_document,
    ),
    Contradiction(
        "ST201",
        "empty values and limits that are not numbers count as absent (§4.1), and the query's "
        "environment overrides the header, which is then ignored (§4.0)",
        _counts_as_absent,
    ),
    Contradiction(
        "ST202",
        "the schema declares the form of a locale; which ones CLDR has is 400 to find out (§4.0)",
        _locale_is_unknown,
    ),
    Contradiction(
        "ST202",
        "a position is a token that a create of this workspace answered with; any other is 400",
        _position_is_refused,
    ),
    Contradiction(
        "ST202",
        "a change is named by a token that the feed has given; any other is 400",
        _change_is_refused,
    ),
    Contradiction(
        "ST202",
        "the schema declares the form of a time; whether it is one, and has passed, is 400",
        _time_is_refused,
    ),
    Contradiction(
        "ST202",
        "the schema declares operands, sort keys and cursors as text; which ones there are is 400",
        _query_is_refused,
    ),
    Contradiction(
        "ST201",
        "filter[FIELD]=VALUE is short for eq, and every text is one in a query",
        _filter_is_text,
    ),
    Contradiction(
        "ST202",
        "which members and paths there are depends on the content types; any other is 400",
        _shape_is_refused,
    ),
    Contradiction(
        "ST202",
        "whether a value fits its field depends on the content type that the body names (§4.4)",
        _is_refused(400, "Field '"),
    ),
    Contradiction(
        "ST202",
        "text with a NUL cannot be stored, and JSON Schema cannot forbid it in any depth",
        _is_refused(400, "NUL"),
    ),
    Contradiction(
        "ST202",
        "a body that Content-Encoding calls packed must be so that we can unpack it",
        _is_refused(400, "Request body cannot be read"),
    ),
    Contradiction(
        "ST202",
        "the schema cannot say which file names an import takes",
        _is_refused(415, ""),
    ),
    Contradiction(
        "ST202",
        "the schema declares the options of an import as text; which values they take is 400",
        _is_form_of_import,
    ),
    Contradiction(
        "ST202",
        "the same idempotency key with another body is 422",
        _is_refused(422, "idempotency key"),
    ),
)


@schemathesis.hook
def map_body(_context: Any, body: Any) -> Any:
    """Moves most values to slugs of known fields, because values of unknown fields are ignored."""
    if not isinstance(body, dict) or not isinstance(body.get("fields"), dict):
        return body
    return {
        **body,
        "fields": {_mostly_known(slug): value for slug, value in body["fields"].items()},
    }


def _mostly_known(slug: str) -> str:
    choices = (*FIELDS, slug)
    return slug if slug in FIELDS else choices[sum(map(ord, slug)) % len(choices)]


@schemathesis.hook
def filter_failure(_context: Any, failure: Any, case: Case, response: Response) -> bool:
    return not any(one.code == failure.code and one.holds(case, response) for one in CONTRADICTIONS)
