"""Which column of a file holds what: what a person has chosen, and what its heading proposes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from write_side.domain.definition import Field
from write_side.domain.events import MappedColumn
from write_side.domain.refusals import InvalidEntry

Own = Literal["Title", "Slug", "Status"]
OWN: tuple[Own, ...] = ("Title", "Slug", "Status")
NOT_IMPORTED = ("ID", "Content type", "Created", "Updated", "Published")
"""Columns of an export that are not an entry's to choose (readings, «Import and export»)."""
EXPORTED = ("ID", *OWN, *NOT_IMPORTED[1:])
"""The first headings of every export; those of the fields follow."""
NOTHING = ""
"""What a column is mapped to that is not imported. The others are those of OWN and the slugs of
fields, which never have capital letters."""

Source = Literal["saved", "heading", ""]
_GAPS = re.compile(r"[\s_-]+")


class MappingRefused(InvalidEntry):
    """The columns cannot be imported as they are mapped; ``missing`` are targets that must be."""

    def __init__(self, reasons: Sequence[str], missing: Sequence[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(f"The columns cannot be imported as they are mapped: {'; '.join(reasons)}")


class Column(Struct, frozen=True):
    """``index`` into a row's cells: columns are mapped by position, so headings may repeat."""

    index: int
    heading: str
    target: Own | Field


class Offer(Struct, frozen=True, rename="camel"):
    """Something that one column may be mapped to."""

    target: str
    name: str
    required: bool


class Proposal(Struct, frozen=True, rename="camel"):
    """For each column what it is mapped to if nobody objects, and why."""

    targets: tuple[str, ...]
    sources: tuple[Source, ...]


def offers(fields: Iterable[Field]) -> tuple[Offer, ...]:
    """All that columns may be mapped to; Title and required fields must be (§4.6)."""
    own = (Offer(name, name, name == "Title") for name in OWN)
    return (*own, *(Offer(field.slug, field.name, field.required) for field in fields))


def columns_of(
    headings: Sequence[str], targets: Sequence[str], fields: Sequence[Field]
) -> tuple[Column, ...]:
    """Those of the columns that are imported. Raises MappingRefused, which says all that is wrong:
    a column too many, a target that is none or is taken twice, or one that must be mapped."""
    known: dict[str, Own | Field] = {name: name for name in OWN}
    known |= {field.slug: field for field in fields}
    _check(headings, targets, known, offers(fields))
    return tuple(
        Column(index, heading.strip(), known[target])
        for index, (heading, target) in enumerate(zip(headings, targets, strict=True))
        if target != NOTHING
    )


def _check(
    headings: Sequence[str],
    targets: Sequence[str],
    known: Mapping[str, Own | Field],
    offered: Iterable[Offer],
) -> None:
    if len(headings) != len(targets):
        raise MappingRefused([f"the file has {len(headings)} columns, not {len(targets)}"], [])
    used = Counter(target for target in targets if target != NOTHING)
    reasons = [f"there is no {target!r} to map a column to" for target in used.keys() - known]
    reasons += [f"{n} columns are mapped to {target!r}" for target, n in used.items() if n > 1]
    missing = [offer for offer in offered if offer.required and offer.target not in used]
    reasons += [
        f"no column is mapped to the required field {offer.name!r}"
        if offer.target != "Title"
        else "no column is mapped to Title"
        for offer in missing
    ]
    if reasons:
        raise MappingRefused(reasons, [offer.target for offer in missing])


def matched(
    headings: Sequence[str], fields: Sequence[Field], given: Mapping[int, str]
) -> tuple[str, ...]:
    """What the columns are mapped to where nobody is asked: as ``given``, by index, then as their
    headings say. Raises MappingRefused where one says nothing that is left."""
    proposal = _proposed(headings, fields, given)
    lost = [
        repr(heading.strip())
        for heading, source in zip(headings, proposal.sources, strict=True)
        if heading.strip() and not source
    ]
    if lost:
        known = ", ".join(offer.name for offer in offers(fields))
        what = "the heading {} fits" if len(lost) == 1 else "the headings {} fit"
        reason = f"{what.format(', '.join(lost))} no column, or one too many; there are: {known}"
        raise MappingRefused([reason], [])
    return proposal.targets


def proposed(
    headings: Sequence[str], fields: Sequence[Field], saved: Sequence[MappedColumn] = ()
) -> Proposal:
    """What was saved for a heading, then what the heading says; in an export of ours nothing but
    the latter, since there Title is the entry's own whatever it was in another file.

    Headings are compared without regard to case, spaces, underscores and hyphens, with the entry's
    own columns and the fields' names, then slugs. Where one repeats, the first is the entry's own,
    as in an export.
    """
    offered = {offer.target for offer in offers(fields)}
    is_export = tuple(headings[: len(EXPORTED)]) == EXPORTED
    return _proposed(headings, fields, {} if is_export else _kept(headings, saved, offered))


def _proposed(
    headings: Sequence[str], fields: Sequence[Field], kept: Mapping[int, str]
) -> Proposal:
    taken = set(kept.values())
    free = [slot for slot in _slots(fields) if slot.target == NOTHING or slot.target not in taken]
    targets: list[str] = []
    sources: list[Source] = []
    for index, heading in enumerate(headings):
        slot = None if index in kept else _fitting(heading, free)
        if slot is not None:
            free.remove(slot)
        targets.append(kept.get(index, slot.target if slot else NOTHING))
        sources.append("saved" if index in kept else "heading" if slot else "")
    return Proposal(tuple(targets), tuple(sources))


class _Slot(Struct, frozen=True):
    """Something that one column may map to, and the words for it."""

    name: str
    slug: str
    target: str


def _slots(fields: Iterable[Field]) -> list[_Slot]:
    return [
        *(_Slot(folded(name), folded(name), name) for name in OWN),
        *(_Slot(folded(name), folded(name), NOTHING) for name in NOT_IMPORTED),
        *(_Slot(folded(field.name), folded(field.slug), field.slug) for field in fields),
    ]


def _fitting(heading: str, free: Sequence[_Slot]) -> _Slot | None:
    sought = folded(heading)
    by_name = (slot for slot in free if slot.name == sought)
    by_slug = (slot for slot in free if slot.slug == sought)
    return next(by_name, None) or next(by_slug, None)


def _kept(
    headings: Iterable[str], saved: Iterable[MappedColumn], offered: set[str]
) -> dict[int, str]:
    """Index of a column → what was saved for its heading; the second of a name has the second."""
    waiting: dict[str, list[str]] = {}
    for column in saved:
        waiting.setdefault(folded(column.heading), []).append(column.target)
    kept = {}
    for index, heading in enumerate(headings):
        known = waiting.get(folded(heading))
        if known and ((target := known.pop(0)) in offered or target == NOTHING):
            kept[index] = target
    return kept


def folded(heading: str) -> str:
    return _GAPS.sub(" ", heading.casefold()).strip()
