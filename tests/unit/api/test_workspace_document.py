"""The OpenAPI document of a workspace: its names are unique, and its schemas fit all requests and
responses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from msgspec import Raw
from openapi_spec_validator import validate

from api.openapi.document import document
from api.openapi.workspace import Names, entry_schema, pascal_case, workspace_document
from api.rest import wire
from read_side.content_types import ContentTypeRow
from read_side.entries import EntryRow
from tests.spreadsheets import REPEATER, SCALAR_FIELDS, repeaters
from tests.unit.test_field_types import FIELDS, SAMPLES
from write_side.domain.definition import Field, Option
from write_side.domain.field_types import FIELD_TYPES
from write_side.domain.rendering import Renderer
from write_side.domain.values import checked

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ID = "018f0000-0000-7000-8000-00000000000a"
CATEGORY = Field(
    "category", "Category", "select", options=(Option("news", "N"), Option("how-to", "H"))
)
DEEP = Field(
    "parts",
    "Parts",
    "repeater",
    fields=(
        CATEGORY,
        Field("span", "Span", "datetime", range=True),
        Field("links", "Links", "repeater", fields=(Field("url", "URL", "text"),)),
    ),
)
EVERY = (
    *(field for field, _ in SCALAR_FIELDS.values()),
    REPEATER,
    Field("author", "Author", "reference"),
    Field("related", "Related", "reference", multiple=True),
    Field("layout", "Layout", "section"),
)
VALUES: dict[str, st.SearchStrategy[Raw]] = {
    **{field.slug: values for field, values in SCALAR_FIELDS.values()},
    REPEATER.slug: repeaters,
    "author": st.just(Raw(f'"{ID}"'.encode())),
    "related": st.just(Raw(f'["{ID}"]'.encode())) | st.just(Raw(b"[]")),
}


def row(slug: str, *fields: Field, minute: int = 0) -> ContentTypeRow:
    created_at = NOON + timedelta(minutes=minute)
    return ContentTypeRow(ID, slug, slug.title(), fields, (), created_at, NOON)


def described(*rows: ContentTypeRow) -> Any:
    return msgspec.json.decode(workspace_document(rows))


def names_of(*slugs: str) -> list[str]:
    """Creates types in this order and returns the schema names of their entries."""
    rows = [row(slug, minute=minute) for minute, slug in enumerate(slugs)]
    paths = described(*rows)["paths"]
    operations = [paths[f"/v1/content/{slug}"]["get"]["operationId"] for slug in slugs]
    return [operation.removeprefix("list") for operation in operations]


def validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator(schema, format_checker=FormatChecker())


def of_schema(root: Any, name: str) -> Draft202012Validator:
    return validator({**root, "$ref": f"#/components/schemas/{name}"})


DOCUMENT = described(row("posts", *EVERY))
ALONE = validator(entry_schema(row("posts", *EVERY)))
SERVED, LISTED, SENT = (
    of_schema(DOCUMENT, name) for name in ("Posts", "ListedPosts", "NewPostsFields")
)


def served(values: dict[str, Raw], *fields: Field) -> Any:
    """Returns the entry as a response shows it."""
    entry = EntryRow(
        id=ID,
        title="Tide",
        slug="tide",
        status="published",
        stage=None,
        language="en-US",
        published_at=NOON,
        created_at=NOON,
        updated_at=NOON,
        fields=Raw(Renderer(fields).render(values)),
        type_id=ID,
        type_name="Posts",
        type_slug="posts",
    )
    return json.loads(wire.encode(wire.single_entry(entry, "en-US")))


def test_every_type_of_field_has_a_case() -> None:
    missing = set(FIELD_TYPES) - {field.type for field in EVERY}
    assert missing == set(), "add them to SCALAR_FIELDS in tests/spreadsheets.py"


@settings(max_examples=30)
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_every_value_that_is_served_fits(sent: dict[str, Raw]) -> None:
    entry = served(checked(EVERY, sent), *EVERY)
    ALONE.validate(entry)
    SERVED.validate(entry)
    del entry["contentType"]
    LISTED.validate(entry)


@settings(max_examples=30)
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_every_value_that_is_accepted_fits(sent: dict[str, Raw]) -> None:
    checked(EVERY, sent)
    SENT.validate(json.loads(wire.encode(sent)))
    SENT.validate(dict.fromkeys(sent))


@pytest.mark.parametrize(("field", "value", "misfit", "_page"), SAMPLES)
def test_a_value_of_another_kind_does_not_fit(
    field: Field, value: str, misfit: str, _page: str
) -> None:
    """The exception is text in a format that JSON Schema cannot express, such as dates."""
    root = described(row("posts", field))
    value = value.replace("a1", ID)
    sent = of_schema(root, "NewPostsFields")
    sent.validate({"f": msgspec.json.decode(value)})
    schema = root["components"]["schemas"]["NewPostsFields"]["properties"]["f"]
    any_text = schema.keys() == {"type", "description"} and "string" in schema["type"]
    if misfit and not (any_text and misfit.startswith('"')):
        assert not sent.is_valid({"f": msgspec.json.decode(misfit)})


def test_a_served_entry_has_every_field_and_lists_that_are_never_null() -> None:
    entry = served({}, *EVERY)
    for schema in (ALONE, SERVED):
        for slug in entry["fields"]:
            absent = {name: value for name, value in entry["fields"].items() if name != slug}
            assert not schema.is_valid({**entry, "fields": absent})
        for slug in ("related", REPEATER.slug):
            assert not schema.is_valid({**entry, "fields": {**entry["fields"], slug: None}})
            SENT.validate({slug: None})


def test_sections_are_left_out() -> None:
    assert "layout" not in DOCUMENT["components"]["schemas"]["PostsFields"]["properties"]


def test_an_option_that_was_removed_is_served_but_not_accepted() -> None:
    root = described(row("posts", CATEGORY))
    schemas = root["components"]["schemas"]
    assert schemas["PostsCategory"]["enum"] == ["news", "how-to"]
    for name, fits in (("PostsFields", True), ("NewPostsFields", False)):
        assert of_schema(root, name).is_valid({"category": "old"}) is fits


@pytest.mark.parametrize(
    "options", [("a b", "a-b"), ("News", "news"), ("1st",), ("हिन्दी",), ("a\nb",)]
)
def test_options_that_are_no_names_in_code_are_strings(options: tuple[str, ...]) -> None:
    choices = tuple(Option(value, value) for value in options)
    schemas = described(row("posts", Field("f", "F", "select", options=choices)))["components"]
    assert "PostsF" not in schemas["schemas"]
    of_field = schemas["schemas"]["PostsFields"]["properties"]["f"]
    assert of_field["type"] == ["string", "null"]


def test_repeaters_are_named_by_their_path() -> None:
    schemas = described(row("posts", DEEP))["components"]["schemas"]
    item = schemas["PostsPartsItem"]["properties"]
    assert item["links"]["items"] == {"$ref": "#/components/schemas/PostsPartsLinksItem"}
    assert {"PostsPartsCategory", "NewPostsPartsItem", "NewPostsPartsLinksItem"} <= schemas.keys()
    assert item["span"]["anyOf"][0] == {"$ref": "#/components/schemas/DateRange"}
    assert schemas["DateRange"]["required"] == ["from", "to"]


def test_a_type_is_named_by_its_slug() -> None:
    assert names_of("posts", "blog-posts", "press_releases", "q-and-a", "2024-events", "7") == [
        *("Posts", "BlogPosts", "PressReleases", "QAndA", "Type2024Events", "Type7")
    ]


def test_names_that_are_taken_are_changed() -> None:
    assert names_of("content-type", "media", "none", "t", "date-range", "error-body") == [
        *("ContentTypeEntry", "MediaEntry", "NoneEntry", "TEntry", "DateRangeEntry"),
        "ErrorBodyEntry",
    ]


def test_an_older_type_keeps_its_name() -> None:
    assert names_of("a_b", "a-b", "a--b") == ["AB", "ABEntry", "ABEntry2"]
    assert names_of("a--b", "a-b") == ["AB", "ABEntry"]
    assert names_of("posts-fields", "posts") == ["PostsFields", "PostsEntry"]


def test_a_name_inside_of_a_type_gives_way_to_another_type() -> None:
    schemas = described(row("posts", CATEGORY), row("posts-category", minute=1))["components"]
    assert "contentType" in schemas["schemas"]["PostsCategory"]["properties"]
    assert schemas["schemas"]["PostsCategory2"]["enum"] == ["news", "how-to"]


def test_names_are_unique_without_regard_to_case() -> None:
    names = Names(["posts"])
    assert [names.claim("Posts"), names.claim("POSTS"), names.claim("Posts2")] == [
        *("Posts2", "POSTS3", "Posts22")
    ]


def test_pascal_case() -> None:
    assert pascal_case("goes_live", "q1-2") == "GoesLiveQ12"


def test_the_document_is_valid_and_its_references_have_targets() -> None:
    root = described(row("posts", *EVERY, DEEP), row("authors", *FIELDS[:2], minute=1))
    validate(root)
    created = root["paths"]["/v1/content"]["post"]["requestBody"]["content"]["application/json"]
    assert [one["$ref"].rsplit("/")[-1] for one in created["schema"]["oneOf"]] == [
        *("NewAuthors", "NewPosts")
    ]
    assert set(map(str, references(root))) <= targets(root)


def test_included_entries_are_of_the_types_of_the_workspace() -> None:
    schemas = described(row("posts", *EVERY), row("authors", minute=1))["components"]["schemas"]
    assert schemas["PostsListBody"]["properties"]["includes"]["$ref"].endswith("/Includes")
    assert "includes" not in schemas["PostsListBody"]["required"]
    entries = schemas["Includes"]["properties"]["entries"]["additionalProperties"]["anyOf"]
    assert [one["$ref"].rsplit("/")[-1] for one in entries] == ["IncludedPosts", "IncludedAuthors"]
    included = schemas["IncludedPosts"]["properties"]
    assert included["fields"]["$ref"].endswith("/PostsFields")
    assert included["contentType"]["$ref"].endswith("/PostsType")
    assert schemas["PostsType"]["properties"]["slug"] == {"type": "string", "const": "posts"}
    assert "language" not in included


def test_a_workspace_without_types_has_the_generic_document() -> None:
    assert workspace_document([]) == wire.encode(document())


def test_the_schema_of_an_entry_is_complete() -> None:
    schema = entry_schema(row("2024-posts", *EVERY, DEEP))
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == "Type2024Posts"
    found = {f"#/$defs/{name}" for name in schema["$defs"]}
    assert set(references(schema)) <= found
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate({})


def references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [found for inner in part for found in references(inner)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if "$ref" in part else []
    return own + [found for inner in part.values() for found in references(inner)]


def targets(root: Any) -> set[str]:
    return {
        f"#/components/{kind}/{name}"
        for kind, parts in root["components"].items()
        for name in parts
    }
