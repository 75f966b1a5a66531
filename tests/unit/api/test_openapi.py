"""The OpenAPI document is valid, and everything in it has an example that fits."""

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
from api.imports.endpoints import OPTIONS, READING
from api.openapi.document import document
from api.openapi.responses import REFUSALS, source
from api.rest.idempotency import HEADER as IDEMPOTENCY
from api.rest.tokens import POSITION
from write_side.domain.workspace import SECRET_PREFIX

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
    if "$ref" not in response
]
OF_CORS = {"Access-Control-Allow-Origin", "Access-Control-Expose-Headers"}
METHOD_NAMES = {
    "listEntries",
    "getEntry",
    "listAllEntries",
    "createEntry",
    "listContentTypes",
    "getContentType",
    "getContentTypeSchema",
    "listMedia",
    "getMediaFile",
    "listLocales",
    "listChanges",
    "createImport",
    "getImport",
    "revertImport",
    "executeGraphQL",
    "getHealth",
    "getReadiness",
    "getMetrics",
    "getOpenAPI",
}
# These have the same text as another error, which the document describes.
SAME_WORDS = {
    "InsufficientResourcesError",
    "NoTemporarySpace",
    "Overloaded",
    "StaleDecision",
    "StoreUnavailable",
    "UnknownContentType",
    "UnknownEntry",
}
# REST never returns these: it updates and defines nothing and has no files. Only GraphQL, the
# dashboard and the command line return them.
ELSEWHERE = {
    "Busy",
    "ContentTypeInUse",
    "ForgedRequest",
    "InvalidDefinition",
    "FileMismatch",
    "UnknownUpload",
    "UnknownVersion",
    "UnknownWebhook",
    "VersionConflict",
}
OF_THE_KEY = {"Authorization", "X-API-Key"}
# Browsers send these with requests for dashboard pages.
OF_PAGES = {"Accept", "Origin", "Referer", "Sec-Fetch-Site", "X-Forwarded-Proto"}
OF_PAGE_RESPONSES = {
    "Content-Disposition",
    "Content-Security-Policy",
    "HX-Push-Url",
    "Server",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
}
OF_PROXIES = {"X-Forwarded-For"}  # set by proxies, not by clients; documented for operators
OF_BODIES = {"Content-Type"}  # described as the media types of the body
OF_TRACES = {"traceparent"}  # sent only by clients that use tracing
SECRET = f"{SECRET_PREFIX}a-key-of-your-workspace"
WITH_EXAMPLES = ("parameters", "headers")


def test_the_document_is_valid() -> None:
    validate(DOCUMENT)


def test_each_operation_becomes_a_good_client_method() -> None:
    assert len(OPERATIONS) == sum(map(len, DOCUMENT["paths"].values()))
    assert OPERATIONS.keys() == METHOD_NAMES
    assert {method for path in DOCUMENT["paths"].values() for method in path} == {"get", "post"}


def test_every_part_of_an_import_is_described() -> None:
    parts = {"file", "contentType", "dryRun", "key", *READING, *OPTIONS}
    assert COMPONENTS["schemas"]["NewImport"]["properties"].keys() == parts


def test_generators_find_a_server() -> None:
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]


def test_an_enum_has_no_empty_text_and_is_declared_once() -> None:
    enums = [tuple(part["enum"]) for part in parts(DOCUMENT) if "enum" in part]
    assert ("production", "staging") in enums
    assert all("" not in enum for enum in enums)
    assert len(set(enums)) == len(enums)


def test_nothing_is_null_by_default() -> None:
    assert all(part.get("default", ...) is not None for part in parts(DOCUMENT))


def test_values_of_fields_are_open() -> None:
    schemas = COMPONENTS["schemas"]
    values = [schemas["EntryFields"], schemas["NewEntry"]["properties"]["fields"]]
    assert [one["additionalProperties"] for one in values] == [True, True]
    for name in ("ListedEntry", "SingleEntry", "AnyEntry", "CreatedEntry"):
        reference = {"$ref": "#/components/schemas/EntryFields"}
        assert schemas[name]["properties"]["fields"] == reference


WITHOUT_EXAMPLES = (
    *("asOf", "q", "select", "include", "cursor", "sort"),
    *("position", "contentEncoding", "after", "lastEventId"),
)


@pytest.mark.parametrize("kind", WITH_EXAMPLES)
def test_every_parameter_and_header_has_an_example_that_fits(kind: str) -> None:
    for name, part in COMPONENTS[kind].items():
        assert part["description"], name
        if part.get("style") == "deepObject":
            assert name.startswith("filter")
        elif name == "total":
            assert "`none`" in part["description"]
            assert part["schema"]["const"] == "none"
        elif name in WITHOUT_EXAMPLES:
            # The documentation page would send any example with its requests.
            [example] = re.findall("such as `([^`]+)`", part["description"])
            assert_fits(example, part["schema"])
        else:
            assert_have_examples([part])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("select", " title , slug "),
        ("include", " author , cover "),
        ("events", " entry.created , entry.deleted "),
    ],
)
def test_lists_of_names_may_have_spaces(name: str, text: str) -> None:
    assert_fits(text, COMPONENTS["parameters"][name]["schema"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_body_has_examples_that_fit(name: str) -> None:
    found = list(bodies(OPERATIONS[name]))
    assert found
    assert_have_examples(found)


def test_router_responses_have_examples_that_fit() -> None:
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


def test_a_success_has_the_headers_of_every_response() -> None:
    for operation in OPERATIONS.values():
        success = min(operation["responses"])
        assert (
            set(source()["groups"]["always"]) <= operation["responses"][success]["headers"].keys()
        )


def test_refusals_are_shared_and_repeat_no_headers() -> None:
    """Repeating them made one opened operation 12,500 px high in the documentation."""
    for operation in OPERATIONS.values():
        for status, response in operation["responses"].items():
            if int(status) >= 304 and operation["operationId"] != "getReadiness":
                assert response.keys() == {"$ref"}
    headers = {name for one in COMPONENTS["responses"].values() for name in one["headers"]}
    assert headers == {"ETag", "X-Content-Position", "Allow", "Retry-After", "WWW-Authenticate"}


def test_refusals_with_a_wait_have_retry_after() -> None:
    for name in ("RateLimitExceeded", "Unavailable"):
        assert "Retry-After" in COMPONENTS["responses"][name]["headers"]


def test_every_operation_that_reads_a_database_lists_503() -> None:
    for name, operation in OPERATIONS.items():
        if name not in ("getHealth", "getMetrics", "getOpenAPI"):
            assert "503" in operation["responses"], name


def test_every_header_that_the_code_reads_or_writes_is_described() -> None:
    source = "\n".join(path.read_text() for path in Path(api.__path__[0]).rglob("*.py"))
    read = set(re.findall(r'\bheaders\.get(?:all)?\("([\w-]+)"', source))
    written = set(re.findall(r'\bheaders(?:\.setdefault\(|\[)"([\w-]+)"(?:,|\] = )', source))
    assert len(read) >= 6
    assert len(written) >= 12
    parameters = {part["name"] for part in COMPONENTS["parameters"].values()}
    assert (
        read | {IDEMPOTENCY, POSITION}
        <= parameters | OF_THE_KEY | OF_PAGES | OF_PROXIES | OF_BODIES | OF_TRACES
    )
    assert written | {POSITION} <= COMPONENTS["headers"].keys() | OF_CORS | OF_PAGE_RESPONSES


def test_a_way_to_give_the_key_has_an_example() -> None:
    for scheme in COMPONENTS["securitySchemes"].values():
        assert SECRET in scheme["description"]


@pytest.mark.parametrize("kind", WITH_EXAMPLES)
def test_nothing_is_described_that_no_operation_refers_to(kind: str) -> None:
    used = set(references((DOCUMENT["paths"], COMPONENTS["responses"])))
    assert {f"#/components/{kind}/{name}" for name in COMPONENTS[kind]} <= used


def test_every_reference_has_a_target() -> None:
    for reference in set(references(DOCUMENT)):
        kind, name = reference.removeprefix("#/components/").split("/")
        assert name in COMPONENTS[kind]


def test_numbers_of_pages_are_integers() -> None:
    """The service accepts other text too (§4.1), but no client should send it."""
    for name in ("limitOf10", "limitOf50", "offset"):
        assert COMPONENTS["parameters"][name]["schema"]["type"] == "integer"


def assert_have_examples(parts: list[Any]) -> None:
    for part in parts:
        named = [example["value"] for example in part.get("examples", {}).values()]
        for example in named or [part["example"]]:
            assert_fits(example, part["schema"])


def parts(part: Any) -> Iterator[dict[str, Any]]:
    """Yields every object of the document except those in examples."""
    if isinstance(part, dict):
        yield part
        for name, inner in part.items():
            if name not in ("example", "examples"):
                yield from parts(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from parts(inner)


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
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from references(inner)


def assert_fits(example: Any, schema: Any) -> None:
    root = {**schema, "components": COMPONENTS}
    Draft202012Validator(root, format_checker=FormatChecker()).validate(example)
