"""The OpenAPI document: valid, and everything in it has an example that fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import validate

import api
from api.errors import STATUS
from api.openapi.document import document
from api.openapi.responses import REFUSALS, source
from api.rest.idempotency import HEADER as IDEMPOTENCY
from api.rest.positions import HEADER as POSITION

DOCUMENT = document()
COMPONENTS = DOCUMENT["components"]
OPERATIONS = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for operation in path.values()
}
RESPONSES = [
    response
    for part in (*OPERATIONS.values(), COMPONENTS)
    for response in part["responses"].values()
]
# Said in the words of another one, which is there.
SAME_WORDS = {
    "InsufficientResourcesError",
    "NotVisibleYet",
    "StaleDecision",
    "StoreUnavailable",
    "UnknownContentType",
    "UnknownEntry",
}
# Only GraphQL, the dashboard and the command line meet these: REST neither updates nor defines
# anything, and knows no files.
ELSEWHERE = {
    "Busy",
    "ContentTypeInUse",
    "ForgedRequest",
    "InvalidDefinition",
    "TooLongForSpreadsheet",
    "UnknownImport",
    "UnknownUpload",
    "VersionConflict",
}
OF_THE_KEY = {"Authorization", "X-API-Key"}
# Browsers send them, and are answered with a page.
OF_PAGES = {"Accept", "Origin", "Referer", "Sec-Fetch-Site", "X-Forwarded-Proto"}
TOLD_TO_PAGES = {"HX-Push-Url"}
OF_EVERY_ANSWER = {"Server", "Strict-Transport-Security"}
OF_DOWNLOADS = {"Content-Disposition"}
OF_PROXIES = {"X-Forwarded-For"}  # clients send none; the README tells operators
SECRET = "clk_a-key-of-your-workspace"
WITH_EXAMPLES = ("parameters", "headers")


def test_it_is_valid() -> None:
    validate(DOCUMENT)


def test_each_operation_has_a_name_of_its_own() -> None:
    assert len(OPERATIONS) == sum(map(len, DOCUMENT["paths"].values()))


@pytest.mark.parametrize("kind", WITH_EXAMPLES)
def test_every_parameter_and_header_has_an_example_that_fits(kind: str) -> None:
    for name, part in COMPONENTS[kind].items():
        assert part["description"], name
        assert_have_examples([part])


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_body_has_examples_that_fit(name: str) -> None:
    found = list(bodies(OPERATIONS[name]))
    assert found or name.endswith("Head")
    assert_have_examples(found)


def test_what_the_router_answers_has_examples_that_fit() -> None:
    assert_have_examples(list(bodies(COMPONENTS)))


def test_every_refusal_has_its_examples_in_the_error_envelope() -> None:
    for response in RESPONSES:
        for body in response.get("content", {}).values():
            if body["schema"] == {"$ref": "#/components/schemas/ErrorBody"}:
                assert body["examples"]
                assert all(list(one["value"]) == ["error"] for one in body["examples"].values())


def test_every_refusal_that_the_api_knows_is_described() -> None:
    described = {int(status) for one in OPERATIONS.values() for status in one["responses"]}
    statuses = {status for kind, status in STATUS.items() if kind.__name__ not in ELSEWHERE}
    assert statuses | {413, 500} <= described
    kinds = {kind.__name__ for one in REFUSALS.values() for kind in type(one).__mro__}
    assert {kind.__name__ for kind in STATUS} - kinds <= ELSEWHERE | SAME_WORDS


def test_every_response_has_the_headers_that_are_always_there() -> None:
    for response in RESPONSES:
        assert set(source()["groups"]["always"]) <= response["headers"].keys()


def test_what_says_when_to_come_again_has_the_header() -> None:
    for name, operation in OPERATIONS.items():
        for status in ("429", "503"):
            if status in operation["responses"] and not name.startswith("isReady"):
                assert "Retry-After" in operation["responses"][status]["headers"], name


def test_every_header_that_the_code_reads_or_writes_is_described() -> None:
    source = "\n".join(path.read_text() for path in Path(api.__path__[0]).rglob("*.py"))
    read = set(re.findall(r'\bheaders\.get(?:all)?\("([\w-]+)"', source))
    written = set(re.findall(r'\bheaders(?:\.setdefault\(|\[)"([\w-]+)"(?:,|\] = )', source))
    assert len(read) >= 6
    assert len(written) >= 12
    parameters = {part["name"] for part in COMPONENTS["parameters"].values()}
    assert read | {IDEMPOTENCY, POSITION} <= parameters | OF_THE_KEY | OF_PAGES | OF_PROXIES
    assert (
        written | {POSITION}
        <= COMPONENTS["headers"].keys() | OF_DOWNLOADS | TOLD_TO_PAGES | OF_EVERY_ANSWER
    )


def test_a_way_to_give_the_key_has_an_example() -> None:
    for scheme in COMPONENTS["securitySchemes"].values():
        assert SECRET in scheme["description"]


@pytest.mark.parametrize("kind", WITH_EXAMPLES)
def test_nothing_is_described_that_no_operation_refers_to(kind: str) -> None:
    used = set(references(DOCUMENT["paths"]))
    assert {f"#/components/{kind}/{name}" for name in COMPONENTS[kind]} <= used


def test_whatever_is_referred_to_is_there() -> None:
    for reference in set(references(DOCUMENT)):
        kind, name = reference.removeprefix("#/components/").split("/")
        assert name in COMPONENTS[kind]


def test_numbers_of_pages_are_strings() -> None:
    """What is no number is legal there (§4.1)."""
    for name in ("limitOf10", "limitOf50", "offset"):
        assert COMPONENTS["parameters"][name]["schema"]["type"] == "string"


def assert_have_examples(parts: list[Any]) -> None:
    for part in parts:
        named = [example["value"] for example in part.get("examples", {}).values()]
        for example in named or [part["example"]]:
            assert_fits(example, part["schema"])


def bodies(operation: Any) -> Iterator[Any]:
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for response in operation["responses"].values():
        yield from response.get("content", {}).values()


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def assert_fits(example: Any, schema: Any) -> None:
    root = {**schema, "components": COMPONENTS}
    Draft202012Validator(root, format_checker=FormatChecker()).validate(example)
