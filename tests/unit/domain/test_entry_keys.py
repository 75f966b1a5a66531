"""An entry has keys at each path of its content type."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from tests.unit.samples import COLOURS, LATER, NOON, POSTS, STAGES, created, raw
from write_side.domain.definition import Field
from write_side.domain.entry import Entry, evolve
from write_side.domain.entry_keys import BUILT_IN, EntryKeys, Keys
from write_side.domain.keys import (
    INCOMPARABLE,
    MISSING,
    instant_key,
    number_key,
    text_key,
    time_key,
)

FIELDS = (
    Field("plain", "Plain", "text"),
    Field("price", "Price", "number", indexed=True),
    Field("span", "Span", "datetime", range=True, indexed=True),
    Field("colours", "Colours", "select", options=COLOURS, multiple=True, indexed=True),
)


def entry(**fields: object) -> Entry:
    values = {slug: raw(value) for slug, value in fields.items()}
    return evolve(None, created(content_type_id=POSTS, title="Tide", slug="tide", fields=values))


def keys(entry: Entry) -> dict[str, Keys]:
    made = EntryKeys(FIELDS, STAGES)
    return dict(zip(made.paths, made.of(entry), strict=True))


def test_every_entry_has_keys_at_the_built_in_paths() -> None:
    draft = replace(entry(), created_at=NOON, updated_at=LATER)
    found = keys(draft)
    assert found.keys() > BUILT_IN.keys()
    assert found["id"] == (draft.id.encode(),)
    assert found["title"] == (b"Tide",)
    assert found["slug"] == (b"tide",)
    assert found["createdAt"] == (time_key(NOON),)
    assert found["updatedAt"] == (time_key(LATER),)
    assert found["publishedAt"] == (MISSING,)
    assert keys(replace(draft, published_at=NOON))["publishedAt"] == (time_key(NOON),)


def test_the_stage_is_the_one_that_is_shown() -> None:
    for stage_id, shown in (("review", b"review"), ("gone", b"writing"), (None, b"writing")):
        assert keys(replace(entry(), stage_id=stage_id))["stage"] == (shown,)
    archived = replace(entry(), stage_id="review", status="archived")
    assert keys(archived)["stage"] == (MISSING,)


def test_only_indexed_fields_have_paths() -> None:
    custom = EntryKeys(FIELDS, STAGES).paths[len(BUILT_IN) :]
    assert custom == ("fields.price", "fields.span.from", "fields.span.to", "fields.colours")


def test_values_of_fields() -> None:
    span = {"from": "2026-01-31", "to": "2026-02-14T00:00:00Z"}
    found = keys(entry(plain="x", price=1.5, span=span, colours=["red", "green", "red"]))
    assert found["fields.price"] == (number_key(b"15e-1"),)
    assert found["fields.span.from"] == (instant_key("2026-01-31T00:00:00Z"),)
    assert found["fields.span.to"] == (instant_key("2026-02-14"),)
    assert found["fields.colours"] == (text_key("green"), text_key("red"))


def test_a_value_that_is_missing_or_null_has_the_key_of_nothing() -> None:
    for nothing in (entry(), entry(price=None, span=None, colours=None)):
        found = keys(nothing)
        assert {path: found[path] for path in found if path.startswith("fields.")} == {
            "fields.price": (MISSING,),
            "fields.span.from": (MISSING,),
            "fields.span.to": (MISSING,),
            "fields.colours": (MISSING,),
        }


def test_an_empty_array_is_there() -> None:
    assert keys(entry(colours=[]))["fields.colours"] == (b"",)


def test_long_values_are_incomparable_alone() -> None:
    found = keys(replace(entry(colours=["x" * 2_000, "red"]), title="x" * 10_000))
    assert found["title"] == (INCOMPARABLE,)
    assert found["fields.colours"] == (b"red", INCOMPARABLE)


def test_a_value_that_does_not_fit_its_field_stops_nothing() -> None:
    unfit = replace(entry(), fields={"price": Raw(b'"dear"')})
    assert keys(unfit)["fields.price"] == (INCOMPARABLE,)
