"""A field type is defined in one place, and every interface of the service supports each type. A
new type needs a sample here; the tests that fail show what else is missing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from api.dashboard import templates, values
from api.dashboard.excerpts import Truncator
from api.dashboard.values import ReferenceTargets
from api.dashboard.wizard.column_views import how_to_write
from api.graphql.types import EntryStatus
from api.openapi.document import document
from api.openapi.filters import filter_schemas, parameters_of
from api.rest import wire
from read_side.content_types import ContentTypeRow
from read_side.queries.comparison import operators_of
from read_side.queries.request import OPERATORS
from tests.unit.samples import created
from write_side.domain.cells import cell_of, same, value_of
from write_side.domain.definition import Field, Option, check_definition
from write_side.domain.entry import evolve
from write_side.domain.entry_keys import BUILT_IN, EntryKeys, paths_of
from write_side.domain.events import STATUSES
from write_side.domain.field_types import (
    FIELD_TYPES,
    Display,
    FieldType,
    FieldTypeSpec,
    Setting,
)
from write_side.domain.keys import INCOMPARABLE, INSTANT, Ordering
from write_side.domain.refusals import InvalidField
from write_side.domain.rendering import Renderer
from write_side.domain.values import NULL, checked, checked_value, is_empty
from write_side.manifest.loader import read_manifest

DOCUMENTS = Path(__file__).parents[2] / "deploy/docs"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
OPTIONS = (Option("news", "News"), Option("how-to", "How-to"))
INNER = (Field("q", "Question", "text"),)
SECTION = Field("f", "F", "section")
# For each type: a field, a valid value, an invalid value, and what the dashboard shows.
SAMPLES: list[tuple[Field, str, str, str]] = [
    (Field("f", "F", "text", indexed=True, searchable=True), '"Tide"', "1", "Tide"),
    (Field("f", "F", "rich_text"), '"<p>Tide</p>"', "1", "Tide"),
    (Field("f", "F", "number", required=True), "-1.50", '"1"', "-1.50"),
    (Field("f", "F", "boolean"), "true", '"true"', "Yes"),
    (Field("f", "F", "datetime"), '"2026-01-31"', '"soon"', 'datetime="2026-01-31"'),
    (
        Field("f", "F", "datetime", range=True),
        '{"from":"2026-01-31","to":"2026-02-01"}',
        '"2026-01-31"',
        'datetime="2026-02-01"',
    ),
    (Field("f", "F", "select", options=OPTIONS), '"how-to"', '"sports"', "How-to"),
    (Field("f", "F", "select", options=OPTIONS, multiple=True), '["news"]', '"news"', "News"),
    (Field("f", "F", "reference", to=("posts",)), '"a1"', "1", "a1"),
    (Field("f", "F", "reference", multiple=True), '["a1"]', '"a1"', "a1"),
    (Field("f", "F", "media"), '"hero"', "1", "hero"),
    (Field("f", "F", "media", multiple=True), '["hero"]', '"hero"', "hero"),
    (Field("f", "F", "json"), '{"a":1}', "", "&#34;a&#34;: 1"),
    (Field("f", "F", "repeater", fields=INNER), '[{"q":"Why?"}]', "{}", "Why?"),
]
FIELDS = [SECTION, *(field for field, *_ in SAMPLES)]


def raw(text: str) -> Raw:
    return Raw(text.encode())


def row_of(*fields: Field) -> ContentTypeRow:
    return ContentTypeRow("1", "posts", "Posts", fields, (), NOON, NOON)


def test_every_type_has_a_row_and_a_sample() -> None:
    assert list(FIELD_TYPES) == list(get_args(FieldType)), "use the same order in both"
    sampled = {field.type for field in FIELDS}
    assert set(FIELD_TYPES) - sampled == set(), "add samples to SAMPLES"
    used = {name for name in get_args(Setting) if any(getattr(field, name) for field in FIELDS)}
    assert set(get_args(Setting)) - used == set(), "add samples with these settings to SAMPLES"
    for setting in ("multiple", "range"):
        sampled = {field.type for field in FIELDS if getattr(field, setting)}
        types = {name for name, spec in FIELD_TYPES.items() if setting in spec.settings}
        assert types - sampled == set(), f"add samples with '{setting}' to SAMPLES"


@pytest.mark.parametrize("spec", FIELD_TYPES.values(), ids=FIELD_TYPES)
def test_a_row_has_every_property(spec: FieldTypeSpec) -> None:
    takes_many = "multiple" in spec.settings or "range" in spec.settings
    assert spec.takes
    assert spec.label
    assert bool(spec.takes_many) == bool(spec.label_many) == takes_many
    assert bool(spec.cell_help_many) == takes_many
    assert bool(spec.cell_help) == spec.holds_values
    assert set(spec.needs) <= set(spec.settings) <= set(get_args(Setting))
    assert ("to" in spec.settings) <= (spec.refers_to == "entry")
    assert ("indexed" in spec.settings) == (spec.ordering is not None)
    assert ("searchable" in spec.settings) <= spec.translatable
    assert not (spec.is_nested and spec.translatable), "a nested type is what its fields are"


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.spec.label_of(field))
def test_a_manifest_and_the_bodies_of_content_types_have_every_type(field: Field) -> None:
    check_definition("Posts", [field], ())
    types = [{"slug": "posts", "name": "Posts", "fields": [msgspec.to_builtins(field)]}]
    manifest = {"workspace": "acme", "name": "Acme", "contentTypes": types}
    read = read_manifest(msgspec.json.encode(manifest), "acme.json", is_json=True)
    assert read.manifest.content_types[0].fields == (field,)
    assert wire.content_type(row_of(field)).fields[0].type == field.type


def test_the_documentation_of_the_api_has_every_type_and_status() -> None:
    documented = document()["components"]["schemas"]["FieldType"]
    assert documented["enum"] == list(FIELD_TYPES)
    for name, spec in FIELD_TYPES.items():
        assert f"{name}: {spec.takes}" in documented["description"]
    assert [status.value for status in EntryStatus] == list(STATUSES)


@pytest.mark.parametrize(
    ("document", "heading"),
    [("behaviour.md", "Field values"), ("manifest.md", "Fields"), ("clients.md", "Fields")],
)
def test_a_section_of_the_documentation_has_every_type(document: str, heading: str) -> None:
    section = section_of(document, heading)
    types = [name for name, spec in FIELD_TYPES.items() if spec.holds_values]
    missing = [name for name in types if f"`{name}`" not in section]
    assert missing == [], f"add the types to '{heading}' in deploy/docs/{document}"


def test_the_documentation_of_manifests_has_the_types_of_every_setting() -> None:
    documented = dict(
        re.findall(r"^\| `(\w+)` \| (.+?) \|", section_of("manifest.md", "Fields"), re.M)
    )
    for setting in get_args(Setting):
        assert setting in documented, "add a row to 'Fields' in deploy/docs/manifest.md"
        types = {name for name, spec in FIELD_TYPES.items() if setting in spec.settings}
        named = set(re.findall(r"`(\w+)`", documented[setting]))
        if documented[setting].startswith("all but "):
            named = set(FIELD_TYPES) - named
        assert named == types, f"name the types of '{setting}' in deploy/docs/manifest.md"


def test_the_error_message_in_the_documentation_of_manifests_has_every_type() -> None:
    *others, last = sorted(FIELD_TYPES)
    expected = f"expected {', '.join(others)} or {last}; did you mean"
    is_documented = expected in section_of("manifest.md", "Errors")
    assert is_documented, f"write under 'Errors' in deploy/docs/manifest.md: {expected}"


def test_the_documentation_of_lists_has_every_operator() -> None:
    rows = re.findall(r"^\| (`.+?`) \|", section_of("api.md", "Filters and sorting"), re.M)
    documented = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert set(OPERATORS) - documented == set(), "add rows to deploy/docs/api.md"


def section_of(document: str, heading: str) -> str:
    text = (DOCUMENTS / document).read_text("utf-8")
    [section] = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    return str(section)


@pytest.mark.parametrize(("field", "value", "misfit", "_page"), SAMPLES)
def test_values_are_checked_and_rendered(field: Field, value: str, misfit: str, _page: str) -> None:
    assert checked([field], {"f": raw(value)}) == {"f": raw(value)}
    assert Renderer([field]).render({"f": raw(value)}) == f'{{"f":{value}}}'.encode()
    assert not is_empty(field, raw(value))
    assert is_empty(field, NULL)
    if misfit:
        with pytest.raises(InvalidField, match="Field 'f' takes ") as refused:
            checked_value(field, raw(misfit), "f")
        assert refused.value.expected == field.spec.expected(field)


@pytest.mark.parametrize(("field", "value", "_misfit", "_page"), SAMPLES)
def test_a_value_of_an_indexed_field_has_a_key_at_each_of_its_paths(
    field: Field, value: str, _misfit: str, _page: str
) -> None:
    if "indexed" not in field.spec.settings:
        return
    made = EntryKeys([replace(field, indexed=True)], ())
    keys = made.of(evolve(None, created(fields={"f": raw(value)})))[len(BUILT_IN) :]
    assert len(keys) == len(paths_of(field)) > 0
    assert all(b"" < key < INCOMPARABLE for of_path in keys for key in of_path)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.spec.label_of(field))
def test_the_documentation_of_the_api_has_the_operators_of_every_type(field: Field) -> None:
    ordering = field.spec.ordering
    if ordering is not None:
        operators = operators_of(ordering, multiple=field.multiple)
        assert documented_operators(field) == list(operators)


def test_a_type_with_its_own_ordering_has_the_operators_of_one_like_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ordering = Ordering("a duration", INSTANT.of_json, INSTANT.of_text, has_order=True)
    monkeypatch.setitem(FIELD_TYPES, "text", replace(FIELD_TYPES["text"], ordering=ordering))
    operators = list(operators_of(INSTANT))
    assert list(operators_of(ordering)) == operators
    assert documented_operators(Field("f", "F", "text")) == operators


def documented_operators(field: Field) -> list[str]:
    parameter = parameters_of([replace(field, indexed=True)], {})[0]
    schema = parameter["schema"]["$ref"].removeprefix("#/components/schemas/")
    return list(filter_schemas()[schema]["properties"])


@pytest.mark.parametrize(("field", "value", "_misfit", "_page"), SAMPLES)
def test_a_cell_is_read_as_the_value_that_was_written(
    field: Field, value: str, _misfit: str, _page: str
) -> None:
    cell = cell_of(field, raw(value), {})
    assert cell
    assert same(field, value_of(field, cell), raw(value))


@pytest.mark.parametrize(("field", "value", "_misfit", "page"), SAMPLES)
def test_the_dashboard_shows_every_type(field: Field, value: str, _misfit: str, page: str) -> None:
    shown = values.display_value(
        Truncator().excerpt(field, raw(value), "f"), ReferenceTargets({}, {})
    )
    assert shown.display == field.spec.display
    assert page in displayed(shown)


def test_a_section_takes_no_value() -> None:
    assert checked([SECTION], {"f": raw('"x"')}) == {}
    with pytest.raises(InvalidField, match="Field 'f' takes nothing"):
        checked_value(SECTION, raw('"x"'), "f")


def test_every_display_has_a_branch_in_the_template() -> None:
    shown = {field.spec.display for field in FIELDS}
    assert shown == set(get_args(Display))
    assert "Empty" in displayed(values.DisplayValue("none"))


def displayed(shown: values.DisplayValue) -> str:
    value = templates.ENVIRONMENT.get_template("_values.html").module.value  # type: ignore[attr-defined]
    return str(value(shown, None, "", "en-US"))


def test_only_a_field_with_several_values_is_explained_with_commas() -> None:
    one = Field("a", "A", "reference")
    assert how_to_write([one, replace(one, multiple=True)]) == [
        ("reference", "The slug or ID of an entry."),
        ("references", "Slugs or IDs of entries, with commas between them."),
    ]
