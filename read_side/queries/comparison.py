"""Which entries the filters of a query select: the fields that they name, the operators that these
have, and the ranges of keys (ADR 43, ADR 44)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from read_side.queries import ranges
from read_side.queries.ranges import Ranges
from read_side.queries.request import OPERATORS, EntryQuery, Filter, SortKey
from read_side.refusals import InvalidQuery
from write_side.domain.definition import Field, value_fields
from write_side.domain.entry_keys import BUILT_IN, paths_of
from write_side.domain.events import STATUSES
from write_side.domain.identity import is_id
from write_side.domain.keys import (
    BOOLEAN,
    INCOMPARABLE,
    INSTANT,
    LONGEST,
    MAX_EXPONENT,
    MISSING,
    TEXT,
    Ordering,
)
from write_side.domain.refusals import shortened
from write_side.domain.text import unstorable
from write_side.domain.values import with_plus

ATTRIBUTES = ("status", "language", "contentType")
"""Built-in fields without keys: they are the same for all entries of a list (``Combination``)."""
PREFIX = "fields."
_SORT = "sort"
_NARROWING = ("createdAt", "updatedAt", "publishedAt", "slug", "title", "stage")
"""Built-in fields, the most selective first."""
_NAMED = 5
"""Fields of a type that a refusal suggests."""
EQUALITY = ("eq", "ne", "in", "nin", "exists")
_ORDER = ("eq", "ne", "lt", "lte", "gt", "gte", "in", "nin", "exists")
_MULTIPLE = ("contains", "exists")


class Condition(Struct, frozen=True):
    """An entry's keys at a path, of which one must be in the ranges.

    ``part``: what the text of the key must contain too, regardless of case. ``repeats``: an entry
    may have several keys. ``labels``: of its filters.
    """

    path: str
    ranges: Ranges
    part: str | None = None
    repeats: bool = False
    labels: tuple[str, ...] = ()

    @property
    def has_points(self) -> bool:
        return all(map(ranges.is_point, self.ranges))


class EntrySelection(Struct, frozen=True):
    """The entries that a query selects among those of one type, or of several.

    ``ids``: None for any. ``attributes``: tests of the status, language and content type, by the
    names of ``Combination``. ``sort``: paths with their direction. ``others``: some fields that a
    filter could name too.
    """

    conditions: tuple[Condition, ...]
    sort: tuple[SortKey, ...]
    attributes: tuple[tuple[str, Callable[[str], bool]], ...]
    ids: frozenset[str] | None
    excluded_ids: frozenset[str]
    others: tuple[str, ...] = ()


class _Compared(Struct, frozen=True):
    """A field that has keys."""

    path: str
    ordering: Ordering
    multiple: bool = False


def operators_of(ordering: Ordering, *, multiple: bool = False) -> Sequence[str]:
    if multiple:
        return _MULTIPLE
    if ordering.has_parts:
        return OPERATORS
    return _ORDER if ordering.has_order else EQUALITY


def selection(query: EntryQuery, fields: Iterable[Field]) -> EntrySelection:
    """``fields``: those of the content type. Raises InvalidQuery."""
    usable = _UsableFields(fields, query)
    conditions: list[Condition] = []
    attributes = []
    ids: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    for filter_ in query.filters:
        if filter_.field not in (*ATTRIBUTES, "id"):
            conditions.append(_condition(filter_, usable.compared(filter_.field, filter_.label)))
            continue
        _check_operator(filter_, EQUALITY)
        _check_kinds(filter_, TEXT)
        accepts = _acceptance(filter_)
        if filter_.field != "id":
            attributes.append((filter_.field, accepts))
        elif filter_.operator in ("eq", "in"):
            values = frozenset(filter_.values)
            ids = values if ids is None else ids & values
        elif filter_.operator in ("ne", "nin"):
            excluded |= frozenset(filter_.values)
        elif not accepts(""):
            ids = frozenset()
    return EntrySelection(
        conditions=_merged(conditions),
        sort=tuple(usable.sort_key(key) for key in query.sort),
        attributes=tuple(attributes),
        ids=ids,
        excluded_ids=excluded,
        others=tuple(usable.unfiltered()),
    )


class _UsableFields:
    """The fields that filters and sort keys can name."""

    def __init__(self, fields: Iterable[Field], query: EntryQuery) -> None:
        self._fields = {one.slug: one for one in value_fields(fields)} if query.custom else {}
        self._query = query

    def compared(self, name: str, label: str) -> _Compared:
        """Raises InvalidQuery."""
        if name in BUILT_IN:
            return _Compared(name, BUILT_IN[name])
        slug = name.removeprefix(PREFIX).partition(".")[0]
        if name.startswith(PREFIX) and not self._query.custom:
            where = "with asOf" if self._query.as_of else "in a list across types"
            raise InvalidQuery(
                f"Field '{shortened(name)}' in {label} can be neither filtered nor sorted {where}, "
                f"where only built-in fields can: {self._usable(label)}"
            )
        if not name.startswith(PREFIX) or slug not in self._fields:
            raise InvalidQuery(
                f"Unknown field '{shortened(name)}' in {label}: {self._usable(label)}"
            )
        field = self._fields[slug]
        ordering = field.spec.ordering
        if ordering is None:
            raise InvalidQuery(
                f"Field '{PREFIX}{slug}' in {label} is of type {field.type}, which can be neither "
                "filtered nor sorted"
            )
        if not field.indexed:
            raise InvalidQuery(
                f"Field '{PREFIX}{slug}' in {label} can be neither filtered nor sorted: it needs "
                "the setting 'indexed: true'"
            )
        if name not in paths_of(field):
            known = " or ".join(paths_of(field))
            raise InvalidQuery(f"Unknown field '{shortened(name)}' in {label}: use {known}")
        return _Compared(name, ordering, field.multiple)

    def sort_key(self, key: SortKey) -> SortKey:
        """Raises InvalidQuery."""
        if key.field not in ATTRIBUTES and self.compared(key.field, _SORT).multiple:
            raise InvalidQuery(
                f"Field '{key.field}' in sort has several values, which cannot be sorted"
            )
        return key

    def unfiltered(self) -> Iterable[str]:
        """Some fields on which the query has no filter: attributes that it leaves open, fields of
        the type, and two built-in fields."""
        query = self._query
        given = {one.field for one in query.filters}
        fixed = zip(ATTRIBUTES, (query.status, query.language, query.type_slug), strict=True)
        yield from (name for name, value in fixed if value is None and name not in given)
        yield from islice((one for one in self._custom_paths() if one not in given), _NAMED)
        yield from islice((one for one in _NARROWING if one not in given), 2)

    def _usable(self, label: str) -> str:
        paths = self._custom_paths(sortable=label == _SORT)
        return f"use {', '.join((*BUILT_IN, *ATTRIBUTES, *paths))}"

    def _custom_paths(self, *, sortable: bool = False) -> Iterable[str]:
        """The paths of the indexed fields, or of those with one value."""
        for field in self._fields.values():
            if field.indexed and not (sortable and field.multiple):
                yield from paths_of(field)


def _check_operator(filter_: Filter, operators: Sequence[str]) -> None:
    if filter_.operator not in operators:
        raise InvalidQuery(
            f"Operator '{filter_.operator}' does not apply to '{filter_.field}' in "
            f"{filter_.label}: use {', '.join(operators)}"
        )


def _check_kinds(filter_: Filter, ordering: Ordering) -> None:
    """Raises InvalidQuery for a value that was given in JSON as another type."""
    expected = BOOLEAN if filter_.operator == "exists" else ordering
    for value, kind in zip(filter_.values, filter_.kinds, strict=bool(filter_.kinds)):
        if kind != expected.json:
            form = f"a {expected.json}"
            detail = "" if expected.takes == form else f": {expected.takes}"
            raise InvalidQuery(
                f"The {kind} '{shortened(value)}' in {filter_.label} must be {form} in JSON{detail}"
            )


def _condition(filter_: Filter, field: _Compared) -> Condition:
    _check_operator(filter_, operators_of(field.ordering, multiple=field.multiple))
    _check_kinds(filter_, field.ordering)
    if filter_.operator == "exists":
        found = ranges.EXISTING if _is_true(filter_) else ranges.points([MISSING])
        return Condition(field.path, found, repeats=field.multiple, labels=(filter_.label,))
    if filter_.operator == "contains" and not field.multiple:
        part = _checked_text(filter_, filter_.values[0])
        return Condition(field.path, ranges.COMPARABLE, part, labels=(filter_.label,))
    keys = [_key(filter_, field.ordering, value) for value in filter_.values]
    found = ranges.of_operator(filter_.operator, keys)
    return Condition(field.path, found, repeats=field.multiple, labels=(filter_.label,))


def _key(filter_: Filter, ordering: Ordering, value: str) -> bytes:
    text = with_plus(value) if ordering is INSTANT else value
    key = ordering.of_text(_checked_text(filter_, text))
    if key is None:
        raise InvalidQuery(f"'{shortened(value)}' in {filter_.label} must be {ordering.takes}")
    if key == INCOMPARABLE:
        raise InvalidQuery(
            f"'{shortened(value)}' in {filter_.label} is too long to be compared: numbers have up "
            f"to {LONGEST:,} digits, and exponents of up to ±{MAX_EXPONENT:,}"
        )
    return key


def _checked_text(filter_: Filter, value: str) -> str:
    if unstorable(value):
        raise InvalidQuery(f"The value of {filter_.label} has characters that no entry has")
    return value


def _is_true(filter_: Filter) -> bool:
    key = _key(filter_, BOOLEAN, filter_.values[0])
    return key == BOOLEAN.of_text("true")


def _acceptance(filter_: Filter) -> Callable[[str], bool]:
    """The test of an attribute. Raises InvalidQuery."""
    if filter_.operator == "exists":
        exists = _is_true(filter_)
        return lambda _: exists
    for value in filter_.values:
        _check_attribute(filter_, value)
    values = frozenset(filter_.values)
    if filter_.operator in ("eq", "in"):
        return lambda value: value in values
    return lambda value: value not in values


def _check_attribute(filter_: Filter, value: str) -> None:
    if filter_.field == "id" and not is_id(value):
        raise InvalidQuery(f"'{shortened(value)}' in {filter_.label} must be a UUID in lower case")
    if filter_.field == "status" and value not in STATUSES:
        raise InvalidQuery(
            f"Unknown status '{shortened(value)}' in {filter_.label}: use published, draft or "
            "archived"
        )


def _merged(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """One condition for each path, unless an entry may have several keys there: they need not be
    the same key."""
    by_path: dict[str, Condition] = {}
    repeating = []
    for condition in conditions:
        known = by_path.get(condition.path)
        if condition.repeats:
            repeating.append(condition)
        elif known is None:
            by_path[condition.path] = condition
        else:
            by_path[condition.path] = replace(
                known,
                ranges=ranges.intersection(known.ranges, condition.ranges),
                part=condition.part if known.part is None else known.part,
                labels=(*known.labels, *condition.labels),
            )
    return (*by_path.values(), *repeating)
