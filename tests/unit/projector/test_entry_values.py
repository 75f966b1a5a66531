"""The keys that a batch adds and removes, and what is left incomplete when a type is revised."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakSet

import pytest
from msgspec.structs import replace

from projector import entry_values as module
from projector.entry_values import TypeValues, ValuesOfTypes, changed_paths, put_values
from projector.projection import project
from projector.rows import Rows
from tests.unit.projector.test_projection import recorded, revised, rows_after
from tests.unit.samples import COLOURS, LATER, POSTS, STAGES, created, deleted, raws, updated
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field, Stage
from write_side.domain.entry_keys import SEARCH
from write_side.domain.keys import MISSING, number_key, time_key

PRICE = Field("price", "Price", "number", indexed=True)
TAGS = Field("tags", "Tags", "select", options=COLOURS, multiple=True, indexed=True)
TEXT = Field("text", "Text", "text")
WORDS = Field("words", "Words", "text", searchable=True)
RANGE = Field("range", "Range", "datetime", range=True, indexed=True)
NOTHING = rows_after()
SETTLED = rows_after(created(fields=raws(price=1, tags=["red"])))


def type_of(*fields: Field, stages: tuple[Stage, ...] = ()) -> ContentType:
    found = project(recorded(revised(*fields, stages=stages), after=1), rows_after()).types[POSTS]
    assert found is not None
    return found


INDEXED = type_of(PRICE, TAGS)


class Transaction:
    """Records the parameters of statements instead of executing them."""

    def __init__(self) -> None:
        self.added: dict[str, list[tuple[Any, ...]]] = {}
        self.sizes: list[int] = []

    async def add(self, name: str, parameters: list[list[Any]]) -> None:
        if parameters:
            self.added.setdefault(name, []).extend(zip(*parameters, strict=True))
            self.sizes.append(len(parameters[0]))


def written(*events: Any, before: Rows = SETTLED, copied: set[str] | None = None) -> Transaction:
    after = project(recorded(*events, start=90, after=0 if before is NOTHING else 1), before)
    transaction: Any = Transaction()
    types = {POSTS: INDEXED}
    asyncio.run(put_values(transaction, before, after, types, ValuesOfTypes(), copied or set()))
    found: Transaction = transaction
    return found


def rows_of(before: Rows, **keys: Any) -> set[tuple[Any, ...]]:
    """Returns the entry's rows for the keys given by path."""
    state = next(iter(before.entries.values()))
    assert state is not None
    lists = {path: TypeValues(INDEXED).lists(state.entry, [path])[0] for path in keys}
    return {
        ("acme", "production", state.position, lists[path], key)
        for path, of_path in keys.items()
        for key in of_path
    }


def test_an_update_loses_and_gains_the_keys_that_differ() -> None:
    found = written(updated(title="New", fields=raws(price=None, tags=["green", "red"])))
    assert set(found.added) == {"drop_values", "put_values"}
    paths = {"fields.price": [number_key(b"1")], "updatedAt": [time_key(created().at)]}
    assert set(found.added["drop_values"]) == rows_of(SETTLED, title=[b"Hello"], **paths)
    gained = {"fields.price": [MISSING], "fields.tags": [b"green"], "updatedAt": [time_key(LATER)]}
    assert set(found.added["put_values"]) == rows_of(SETTLED, title=[b"New"], **gained)


def test_a_status_has_lists_of_its_own() -> None:
    found = written(updated(status="published"))
    assert found.added["drop_entry_values"] == [("acme", "production", 1)]
    assert len(found.added["put_values"]) == 9
    lists = {row[3] for row in found.added["put_values"]}
    assert not lists & {row[3] for row in written(updated(title="New")).added["put_values"]}


def test_a_deleted_entry_has_no_keys() -> None:
    assert written(deleted()).added == {"drop_entry_values": [("acme", "production", 1)]}
    assert written(created(), deleted(), before=NOTHING).added == {}


def test_the_keys_of_a_new_entry_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    new = created(fields=raws(tags=["red"]))
    assert written(new, before=NOTHING, copied={new.entry_id}).added == {}
    monkeypatch.setattr(module, "AT_ONCE", 4)
    found = written(new, before=NOTHING)
    assert set(found.added) == {"put_values"}
    assert found.sizes == [4, 4, 1]
    assert len(set(found.added["put_values"])) == 9


def test_keys_at_some_paths() -> None:
    [state] = SETTLED.entries.values()
    assert state is not None
    found = TypeValues(INDEXED).at(state, ["title", "fields.tags", "fields.gone"])
    assert set(found) == rows_of(SETTLED, title=[b"Hello"], **{"fields.tags": [b"red"]})


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (type_of(TEXT), type_of(), set()),
        (type_of(TEXT), type_of(PRICE, TEXT), {"fields.price"}),
        (type_of(PRICE, RANGE), type_of(RANGE), {"fields.price"}),
        (type_of(PRICE), type_of(RANGE), {"fields.price", "fields.range.from", "fields.range.to"}),
        (type_of(WORDS), type_of(), {SEARCH}),
        (type_of(), type_of(stages=STAGES), {"stage"}),
        (type_of(stages=STAGES), type_of(stages=STAGES[::-1]), {"stage"}),
        (type_of(stages=STAGES), type_of(WORDS, stages=STAGES), {SEARCH}),
        (type_of(stages=STAGES), type_of(PRICE, WORDS), {SEARCH, "stage", "fields.price"}),
    ],
)
def test_a_revision_changes_the_keys_at_some_paths(
    before: ContentType, after: ContentType, changed: set[str]
) -> None:
    assert changed_paths(before, after) == changed


def test_the_keys_are_those_of_the_newest_version_of_the_type() -> None:
    values, settled = ValuesOfTypes(), NOTHING.types[POSTS]
    assert settled is not None
    older = values.of(settled)
    assert values.of(settled) is older
    newer = values.of(INDEXED)
    assert newer is not older
    assert newer.version == INDEXED.version == older.version + 1


def test_the_cache_of_values_of_types_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TYPES_KEPT", 3)
    values, made = ValuesOfTypes(), WeakSet[TypeValues]()
    for number in range(9):
        type_ = replace(INDEXED, id=str(number))
        made.add(values.of(type_))
        assert values.of(type_) in made
    assert len(made) <= 3 + 1
