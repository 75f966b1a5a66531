"""The stored form of events, and that every form ever stored can still be read. A new topic or
version needs a golden fixture in ``tests/fixtures/events`` and its decoded form in
``golden_events.py``. Never change a fixture: the log holds events like it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from eventsourcing.persistence import StoredEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from tests.unit.domain.test_text import JSON, SCALARS, deep
from tests.unit.samples import NOON, created, event_of
from tests.unit.store.golden_events import AT, EXPECTED
from write_side.domain import events as e
from write_side.domain.definition import Field, Option, Stage
from write_side.domain.events import TOPICS, UNRECORDED, EntryCreated, Event, Plan, Translation
from write_side.domain.identity import Actor
from write_side.domain.text import MAX_DEPTH, minified
from write_side.store.mapper import (
    UPCASTS,
    EventMapper,
    StreamEvent,
    UndecodableEvent,
    UnknownTopic,
)

FOLDER = Path(__file__).parents[2] / "fixtures" / "events"
MAPPER = EventMapper()


class Fixture(Struct, forbid_unknown_fields=True):
    """``state`` keeps the exact bytes of the file."""

    topic: str
    state: Raw


def fixture(topic: str) -> Fixture:
    return msgspec.json.decode((FOLDER / f"{topic}.json").read_bytes(), type=Fixture)


def stored(event: Event) -> StoredEvent:
    return MAPPER.to_stored_event(StreamEvent("entry/1", 3, replace(event, at=UNRECORDED)))


def test_every_topic_ever_written_has_its_fixture_and_nothing_else_does() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(TOPICS) | set(UPCASTS)
    assert set(EXPECTED) == set(TOPICS) | set(UPCASTS)


@pytest.mark.parametrize("topic", sorted({*TOPICS, *UPCASTS}))
def test_a_stored_event_means_what_it_meant(topic: str) -> None:
    golden = fixture(topic)
    assert golden.topic == topic
    assert MAPPER.decode(topic, bytes(golden.state), AT) == EXPECTED[topic]


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_an_event_is_stored_as_the_bytes_of_its_fixture(topic: str) -> None:
    row = stored(EXPECTED[topic])
    assert (row.topic, row.state) == (topic, bytes(fixture(topic).state))
    assert (row.originator_id, row.originator_version) == ("entry/1", 3)


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_a_fixture_has_every_field_of_its_event(topic: str) -> None:
    held = set(json.loads(bytes(fixture(topic).state)))
    assert held == {field.encode_name for field in msgspec.structs.fields(TOPICS[topic])} - {"at"}


@pytest.mark.parametrize("part", [Actor, Field, Option, Plan, Stage, Translation])
def test_the_fixtures_together_have_every_field_of_nested_structs(
    part: type[Struct],
) -> None:
    written = "".join(bytes(fixture(topic).state).decode() for topic in TOPICS)
    names = [field.encode_name for field in msgspec.structs.fields(part)]
    assert [name for name in names if f'"{name}":' not in written] == [], (
        "add them to a file in tests/fixtures/events and to EXPECTED in golden_events.py"
    )


LEFT_OUT: dict[type[Struct], dict[str, Any]] = {
    Event: {"environment": None, "at": UNRECORDED, "request_id": None, "traceparent": None},
    e.ContentTypeCreated: {"stages": ()},
    e.ContentTypeRevised: {"stages": ()},
    EntryCreated: {"status": "draft", "stage_id": None, "fields": {}, "translations": {}},
    e.EntryUpdated: {
        **dict.fromkeys(("title", "slug", "status", "stage_id"), UNSET),
        "fields": {},
        "translations": {},
    },
    e.ImportRecorded: {
        **dict.fromkeys(("updated", "unchanged", "skipped", "failed"), 0),
        "language": "en-US",
        "by": None,
        "rows": (),
        "fingerprint": "",
    },
    e.ImportReverted: {"deleted": 0, "restored": 0, "entries": ()},
    e.KeyIssued: {"key_environment": None, "expires_at": None},
    e.WebhookDefined: {"types": (), "events": (), "include_entry": False},
    e.KeyPermissionsChanged: {"key_environment": None, "expires_at": None},
    Plan: {"entries": None, "content_types": None, "requests_per_minute": None, "staging": False},
    Translation: {"title": None, "fields": {}},
    Actor: {"name": ""},
    Field: {
        **dict.fromkeys(("required", "multiple", "range", "indexed", "searchable"), False),
        **dict.fromkeys(("options", "to", "fields"), ()),
    },
}


@pytest.mark.parametrize("part", [*TOPICS.values(), Plan, Translation, Actor, Field])
def test_omitted_members_of_stored_events_keep_their_meaning(part: type[Struct]) -> None:
    expected = [LEFT_OUT.get(kind, {}) for kind in part.__mro__]
    left_out = {name: value for one in expected for name, value in one.items()}
    assert defaults(part) == left_out, "add new defaults to LEFT_OUT; the others never change"


def defaults(part: type[Struct]) -> dict[str, Any]:
    return {
        field.name: field.default
        if field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(part)
        if not field.required
    }


def test_topics_are_named_and_versioned_each_event_once() -> None:
    for topic in [*TOPICS, *UPCASTS]:
        noun, verb, version = topic.split(".")
        assert noun and verb and version[0] == "v" and int(version[1:]) > 0  # noqa: PT018
    assert len(set(TOPICS.values())) == len(TOPICS)
    assert set(TOPICS).isdisjoint(UPCASTS)


def test_every_event_has_a_topic() -> None:
    ours = {event for event in most_derived(Event) if event.__module__ == e.__name__}
    assert ours == set(TOPICS.values())


def most_derived(kind: type[Event]) -> Iterator[type[Event]]:
    """Yields the subclasses that have no subclasses of their own."""
    for below in kind.__subclasses__():
        if below.__subclasses__():
            yield from most_derived(below)
        else:
            yield below


def test_an_update_distinguishes_no_stage_from_an_unchanged_stage() -> None:
    none = stored(e.EntryUpdated(**event_of(), entry_id="1", content_type_id="2", stage_id=None))
    alone = stored(e.EntryUpdated(**event_of(), entry_id="1", content_type_id="2"))
    assert b'"stage_id":null' in none.state
    assert b"stage_id" not in alone.state
    assert MAPPER.to_domain_event(none).event.stage_id is None
    assert MAPPER.to_domain_event(alone).event.stage_id is UNSET


def survives(value: bytes) -> None:
    event = created(
        at=UNRECORDED,
        fields={"f": Raw(value)},
        translations={"fr-FR": Translation(fields={"f": Raw(value)})},
    )
    row = stored(event)
    again = MAPPER.to_domain_event(row)
    assert again == StreamEvent("entry/1", 3, event)
    assert bytes(again.event.fields["f"]) == value
    assert MAPPER.to_stored_event(again) == row


MARKERS = ["_type_", "_data_", "__class__", "$ref", "$type", "__proto__", "topic", "\\", '"', "é"]
MARKED = st.dictionaries(st.sampled_from(MARKERS), JSON, min_size=1, max_size=3)


@settings(max_examples=30)
@given(JSON | MARKED, st.booleans())
def test_a_clients_json_is_returned_byte_for_byte(value: Any, ascii_only: bool) -> None:
    survives(minified(json.dumps(value, ensure_ascii=ascii_only).encode()))


@settings(max_examples=50)
@given(st.text(SCALARS, max_size=20))
def test_every_unicode_scalar_is_returned(text: str) -> None:
    survives(json.dumps(text, ensure_ascii=False).encode())
    again = MAPPER.to_domain_event(stored(created(title=text, slug=text))).event
    assert (again.title, again.slug) == (text, text)


@pytest.mark.parametrize(
    "value",
    [
        deep(MAX_DEPTH),
        deep(MAX_DEPTH, '{"a":', "}"),
        b'"' + b"\xc3\xa9\\n" * 250_000 + b'"',
        b"-0",
        b"1.10",
        b"1E400",
        b"9" * 5000,
        b'{"a":1,"a":2}',
        b'"\\u00e9\\/"',
    ],
    ids=lambda value: repr(value[:12]),
)
def test_edge_cases_of_json_are_returned(value: bytes) -> None:
    survives(minified(value))


def test_an_unknown_topic_is_named_with_what_to_do() -> None:
    with pytest.raises(UnknownTopic) as unknown:
        MAPPER.decode("entry.created.v9", b"{}", AT)
    assert str(unknown.value) == (
        "the log has an event of topic 'entry.created.v9', which this version of contentlog does "
        "not know, because a newer one wrote it: upgrade, then start again"
    )


GOLDEN = bytes(fixture("entry.deleted.v1").state)


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'"' + b"\xff" + b'"',
        GOLDEN[:-1],
        GOLDEN.replace(b'"acme"', b"1"),
        GOLDEN.replace(b'"acme"', b'"\xff"'),
        GOLDEN.replace(b'"entry_id"', b'"entry"'),
        GOLDEN.replace(b"{", b'{"new":1,', 1),
        GOLDEN.replace(b'"key"', b'"stranger"'),
    ],
)
def test_a_state_that_does_not_match_its_topic_is_undecodable(state: bytes) -> None:
    with pytest.raises(UndecodableEvent, match=r"^an event of topic entry\.deleted\.v1 does not "):
        MAPPER.decode("entry.deleted.v1", state, AT)


class Renamed(Event, frozen=True, kw_only=True):
    """The third version of a topic. The first had ``title``, the second only ``name``."""

    name: str
    words: int


def _to_v2(raw: dict[str, Raw]) -> dict[str, Raw]:
    return {**{k: v for k, v in raw.items() if k != "title"}, "name": raw["title"]}


def _to_v3(raw: dict[str, Raw]) -> dict[str, Raw]:
    return {**raw, "words": Raw(b"%d" % len(bytes(raw["name"]).split()))}


CHAIN = EventMapper(
    {"thing.renamed.v3": Renamed},
    {
        "thing.renamed.v1": ("thing.renamed.v2", _to_v2),
        "thing.renamed.v2": ("thing.renamed.v3", _to_v3),
    },
)
OLD = b'{"workspace":"acme","environment":"production","actor":{"kind":"operator","id":"ann"},'


@pytest.mark.parametrize(
    ("topic", "rest"),
    [
        ("thing.renamed.v1", b'"title":"a b c"}'),
        ("thing.renamed.v2", b'"name":"a b c"}'),
        ("thing.renamed.v3", b'"name":"a b c","words":3}'),
    ],
)
def test_an_old_event_is_upcast_step_by_step(topic: str, rest: bytes) -> None:
    assert CHAIN.decode(topic, OLD + rest, NOON) == Renamed(**event_of(), name="a b c", words=3)


def test_an_upcast_event_is_stored_in_its_current_shape() -> None:
    event = CHAIN.decode("thing.renamed.v1", OLD + b'"title":"a"}', NOON)
    assert CHAIN.to_stored_event(StreamEvent("thing/1", 1, event)).topic == "thing.renamed.v3"


@pytest.mark.parametrize("state", [b"[]", b"{", b"\xff", OLD + b'"other":1}', OLD + b'"title":1}'])
def test_an_old_event_that_cannot_be_upcast_is_undecodable(state: bytes) -> None:
    with pytest.raises(UndecodableEvent, match=r"topic thing\.renamed\.v\d does not decode \(.+\)"):
        CHAIN.decode("thing.renamed.v1", state, NOON)
