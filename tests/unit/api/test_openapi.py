"""The OpenAPI document: valid, and everything in it has an example that fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import validate

from api.openapi.document import document

DOCUMENT = document()
COMPONENTS = DOCUMENT["components"]
OPERATIONS = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for operation in path.values()
}
WITH_EXAMPLES = ("parameters", "headers")


def test_it_is_valid() -> None:
    validate(DOCUMENT)


def test_each_operation_has_a_name_of_its_own() -> None:
    assert len(OPERATIONS) == sum(map(len, DOCUMENT["paths"].values()))


@pytest.mark.parametrize("kind", WITH_EXAMPLES)
def test_every_parameter_and_header_has_an_example_that_fits(kind: str) -> None:
    for name, part in COMPONENTS[kind].items():
        assert part["description"], name
        assert_fits(part["example"], part["schema"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_body_has_examples_that_fit(name: str) -> None:
    found = list(bodies(OPERATIONS[name]))
    assert found
    for body in found:
        named = [example["value"] for example in body.get("examples", {}).values()]
        examples = named or [body["example"]]
        for example in examples:
            assert_fits(example, body["schema"])


@pytest.mark.parametrize("kind", WITH_EXAMPLES)
def test_nothing_is_described_that_no_operation_refers_to(kind: str) -> None:
    used = set(references(DOCUMENT["paths"]))
    assert {f"#/components/{kind}/{name}" for name in COMPONENTS[kind]} <= used


def test_numbers_of_pages_are_strings() -> None:
    """What is no number is legal there (§4.1)."""
    for name in ("limitOf10", "limitOf50", "offset"):
        assert COMPONENTS["parameters"][name]["schema"]["type"] == "string"


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
