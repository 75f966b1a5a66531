"""The filters of ``contentEntries``, and whether its total is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import strawberry
from graphql import FieldNode
from msgspec import Raw

from api.errors import BadRequest
from api.graphql.document_limits import fields_below
from api.rest.list_query import NESTED
from api.rest.request_body import json_object
from read_side.queries.request import ANY_OF, MOST_VALUES, OPERATORS, Filter
from write_side.domain.refusals import shortened

_ARRAY = msgspec.json.Decoder(list[Raw])
_KINDS = {b'"': "string", b"t": "boolean", b"f": "boolean"}
_SHAPE = 'filter takes an object such as {"fields.price": {"gte": 10}} or {"status": "draft"}'


def parsed_filters(filters: Raw) -> Iterator[Filter]:
    """Raises BadRequest."""
    if bytes(filters) == b"null":
        return
    for field, value in json_object(filters, _SHAPE).items():
        if field == "fields":
            raise BadRequest(NESTED)
        operators = json_object(value, _SHAPE) if bytes(value)[:1] == b"{" else {"eq": value}
        if not operators:
            raise BadRequest(
                f"filter[{shortened(field)}] has no operator: leave the filter out, or use "
                f"{', '.join(OPERATORS)}"
            )
        for operator, operand in operators.items():
            filter_ = Filter(field, operator, ())
            values = _values(filter_, operand)
            texts = tuple(_text(filter_, each) for each in values)
            kinds = tuple(_KINDS.get(bytes(each)[:1], "number") for each in values)
            yield Filter(field, operator, texts, kinds)


def _values(filter_: Filter, value: Raw) -> Sequence[Raw]:
    if filter_.operator not in ANY_OF:
        return (value,)
    if bytes(value)[:1] != b"[":
        raise BadRequest(f"{filter_.label} takes an array")
    values = _ARRAY.decode(value)
    if not values:
        raise BadRequest(f"{filter_.label} has no values: leave the filter out, or use exists")
    # One value too many is enough for the refusal.
    return values[: MOST_VALUES + 1]


def _text(filter_: Filter, value: Raw) -> str:
    """A number as it is written."""
    match bytes(value)[:1]:
        case b'"':
            return msgspec.json.decode(value, type=str)
        case b"[" | b"{" | b"n":
            raise BadRequest(
                f"{filter_.label} takes a string, a number or a boolean, "
                f"not {shortened(_shown(value))}"
            )
    return _shown(value)


def _shown(value: Raw) -> str:
    return bytes(value).decode()


def selects_total(info: strawberry.Info[Any, Any]) -> bool:
    """Whether the response may have ``pagination.total``."""
    raw = info._raw_info  # noqa: SLF001 - Strawberry has no public name for the nodes

    def selected(name: str, parents: Iterable[FieldNode]) -> list[FieldNode]:
        return [node for node in fields_below(parents, raw.fragments) if node.name.value == name]

    return bool(selected("total", selected("pagination", raw.field_nodes)))
