"""The entries and media files that cells refer to, looked up for a whole file at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

from write_side.domain.cells import BadCell, listed, same
from write_side.domain.definition import Field
from write_side.domain.identity import is_id
from write_side.domain.refusals import (
    InvalidEntry,
    InvalidText,
    UnknownReference,
    first_few,
    shortened,
)
from write_side.domain.text import NotJSON, composed
from write_side.domain.values import Target, is_null, json_of, targets
from write_side.handlers.checks import check_file, check_reference
from write_side.imports.request import EntryKey, ImportRequest
from write_side.imports.rows import Cell, Names, ParsedRow
from write_side.repository import Repository

MOST_REFERENCES = 100_000
"""References in the cells of one import. A slug takes 2 bytes of the file or more; in its entry it
becomes an id of 39 bytes."""
_IDS = msgspec.json.Decoder(list[str] | str)


Among: TypeAlias = tuple[str | None, tuple[str, ...]]
"""The language, or None for any, and the types among which a slug is looked up; () for any."""
Key: TypeAlias = EntryKey | None
"""The key of the row that creates the entry, or None if the entry exists."""
Named: TypeAlias = tuple[str, Key]
"""An id and, for a new entry, its key."""


class ResolvedCell(Struct, frozen=True):
    """The value of a cell, and the keys of the file's rows that it refers to."""

    value: Raw
    rows: tuple[EntryKey, ...] = ()


class References(Struct, frozen=True):
    """What the names in a file can refer to.

    ``types``: entry id → slug of its type. ``by_slug``: language, or None for any, and allowed
    types of a field → slug → ids. ``new_entries``: key → entry id of the file's rows that
    create entries, of type ``content_type_slug``, in these ``languages``. ``files``: id or URL →
    ids of media files.
    """

    types: Mapping[str, str]
    by_slug: Mapping[Among, Mapping[str, list[str]]]
    new_entries: Mapping[EntryKey, str]
    languages: Collection[str]
    content_type_slug: str
    files: Mapping[str, list[str]]

    def value_of(self, cell: Cell, stored: Raw, language: str) -> ResolvedCell:
        """The value of a cell that is not blank. Raises BadCell.

        ``language``: of the row. ``stored``: the entry's value. A reference that it already has is
        accepted even if its target is gone, and so is a value that is no longer valid.
        """
        if isinstance(cell.value, BadCell):
            return ResolvedCell(_unchanged(cell, stored, str(cell.value)))
        if _is_written_as(cell, stored):
            return ResolvedCell(stored)
        if isinstance(cell.value, tuple):
            found = self._named(cell.field, cell.value, _ids_in(stored), language)
            new = tuple(key for _, key in found if key is not None)
            return ResolvedCell(listed(cell.field, [target for target, _ in found]), new)
        assert cell.value is not None, "blank cells have no value"
        if cell.field.spec.is_nested:
            self._check_inner(cell.field, cell.value, stored)
        return ResolvedCell(cell.value)

    def _named(
        self, field: Field, names: Names, kept: Collection[str], language: str
    ) -> list[Named]:
        """What each name refers to. Raises BadCell."""
        named = self._entry if field.spec.refers_to == "entry" else self._file
        found: list[Named] = []
        wrong: dict[str, str] = {}
        for name in names:
            try:
                found.append((name, None) if name in kept else named(field, name, language))
            except BadCell as error:
                wrong[repr(shortened(name))] = str(error)
        comma = '; in a list, write a URL that contains a comma as a JSON array: ["URL"]'
        is_split = field.spec.refers_to == "media" and len(names) > 1
        _raise_wrong(wrong, comma if is_split else "")
        return found

    def _check_inner(self, field: Field, value: Raw, stored: Raw) -> None:
        """A repeater refers only by id. Raises BadCell."""
        kept = {target.reference_key for target in _inner(field, stored)}
        wrong: dict[str, str] = {}
        for target in _inner(field, value):
            if target.reference_key not in kept:
                is_slug = target.is_entry and not is_id(target.id)
                try:
                    self._check(
                        target,
                        f"{target.path} refers to {shortened(target.id)!r}, ",
                        ": a repeater takes ids, not slugs" if is_slug else "",
                    )
                except BadCell as error:
                    wrong.setdefault(target.path, str(error))
        _raise_wrong(wrong)

    def _check(self, target: Target, before: str = "is ", after: str = "") -> None:
        """Checks as the handlers do. ``before`` and ``after``: what the note says around the
        reason."""
        try:
            if target.is_entry:
                check_reference(target, self.types)
            else:
                check_file(target, self.files.get(target.id, ()))
        except UnknownReference as refused:
            raise BadCell(f"{before}{refused.why}{after}") from None

    def _entry(self, field: Field, name: str, language: str) -> Named:
        """Ids come first, then slugs among the allowed types: in the row's language, then in any
        (behaviour.md). A slug as written takes precedence over its composed form."""
        if name in self.types:
            self._check(Target(field.slug, field, name))
            return name, None
        slugs = dict.fromkeys((name, composed(name)))
        among = [(slug, each) for slug in slugs for each in (language, None)]
        found = next(filter(None, (self._with_slug(field, *each) for each in among)), None)
        if found is None:
            kind = f"of type {' or '.join(field.to)} " if field.to else ""
            raise BadCell(f"names no entry {kind}with the id or slug {shortened(name)!r}")
        if len(found) > 1:
            own = sum(key is not None for key in found.values())
            of_file = f"{own} of them in this file: import it without this cell, then "
            raise BadCell(
                f"is ambiguous: {len(found)} entries have the slug {name!r}, "
                f"{of_file if own else ''}give the id"
            )
        return found.popitem()

    def _with_slug(self, field: Field, slug: str, language: str | None) -> dict[str, Key]:
        """Entries in the language, or in any: entry id → key of the row that creates the entry."""
        there = self.by_slug.get((language, field.to), {}).get(slug, [])
        found: dict[str, Key] = dict.fromkeys(there)
        if not field.to or self.content_type_slug in field.to:
            for each in self.languages if language is None else (language,):
                if (each, slug) in self.new_entries:
                    found[self.new_entries[each, slug]] = (each, slug)
        return found

    def _file(self, _field: Field, name: str, _language: str) -> Named:
        found = self.files.get(name, [])
        if not found:
            raise BadCell(f"names no media file with the id or URL {shortened(name)!r}")
        if len(found) > 1:
            raise BadCell(f"is ambiguous: these files have that URL: {', '.join(found)}")
        return found[0], None


class NamedTargets:
    """What the cells of a file name, before it is looked up: at most ``most`` references."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self.slugs: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        """By the language of the row and the allowed types; some are ids."""
        self.ids: set[str] = set()
        self.files: set[str] = set()
        """Ids or URLs."""

    def collect(self, row: ParsedRow) -> ParsedRow:
        """The same row. Raises InvalidEntry."""
        for cell in row.cells:
            if isinstance(cell.value, tuple):
                self._count(row, len(cell.value))
                if cell.field.spec.refers_to == "entry":
                    among = row.language, cell.field.to
                    slugs = self.slugs.setdefault(among, set())
                    slugs.update(cell.value, map(composed, cell.value))
                    self.ids.update(filter(is_id, cell.value))
                else:
                    self.files.update(cell.value)
            elif isinstance(cell.value, Raw):
                inner = list(_inner(cell.field, cell.value))
                self._count(row, len(inner))
                self.ids.update(target.id for target in inner if target.is_entry)
                self.files.update(target.id for target in inner if not target.is_entry)
        return row

    def _count(self, row: ParsedRow, references: int) -> None:
        self._left -= references
        if self._left < 0:
            raise InvalidEntry(
                f"The rows up to {row.number:,} have more than {self._most:,} references: "
                "split the file into several"
            )


async def look_up(
    repository: Repository,
    request: ImportRequest,
    names: NamedTargets,
    new_entries: Mapping[EntryKey, str],
) -> References:
    """Looks up all ids and files, and the slugs by their allowed types: in the language of the
    row, then in any."""
    scope, content_type_slug = request.scope, request.content_type_slug
    types = await repository.types_of_entries(scope, names.ids)
    by_slug: dict[Among, Mapping[str, list[str]]] = {}
    elsewhere: dict[tuple[str, ...], set[str]] = {}
    for (language, to), written in names.slugs.items():
        slugs = written - types.keys()
        found = await repository.entries_by_slug(scope, to, language, slugs)
        by_slug[language, to] = found
        # Slugs not found in the row's language are looked up in all others.
        slugs -= found.keys()
        if not to or content_type_slug in to:
            slugs = {slug for slug in slugs if (language, slug) not in new_entries}
        elsewhere.setdefault(to, set()).update(slugs)
    for to, slugs in elsewhere.items():
        if slugs:
            by_slug[None, to] = await repository.entries_by_slug(scope, to, None, slugs)
    languages = {language for language, _ in new_entries}
    files: dict[str, list[str]] = {}
    media = await repository.media_named(scope.workspace, names.files)
    for file in media:
        files.setdefault(file.url, []).append(file.id)
    files |= {file.id: [file.id] for file in media}
    return References(types, by_slug, new_entries, languages, content_type_slug, files)


def _raise_wrong(wrong: Mapping[str, str], advice: str = "") -> None:
    """Raises BadCell with the reason for the first wrong name, and a list of the others."""
    if wrong:
        first, *others = wrong
        also = f"; also wrong: {first_few(others)}" if others else ""
        raise BadCell(f"{wrong[first]}{also}{advice}")


def _unchanged(cell: Cell, stored: Raw, reason: str) -> Raw:
    """The entry's value if the cell has the same value, such as an option that was removed since.
    Raises BadCell with the reason if not."""
    field = cell.field
    if is_null(stored) or not (field.options or field.fields):
        raise BadCell(reason)
    try:
        # The unchanged text comes first, because an option may have white space around it.
        is_exact = bool(field.options) and stored == json_of(cell.text)
        value = stored if is_exact else field.spec.read_cell(field, cell.text)
    except (NotJSON, InvalidText, UnicodeEncodeError):
        raise BadCell(reason) from None
    if not same(field, value, stored):
        raise BadCell(reason)
    return stored


def _is_written_as(cell: Cell, stored: Raw) -> bool:
    """Whether an export writes the entry's value as this cell. The cell could also be read as
    another value: a removed option may be the label of another one."""
    field = cell.field
    if is_null(stored) or not (field.options or field.spec.reads_serials):
        return False
    try:
        return field.spec.write_cell(field, stored, {}) == cell.text
    except (msgspec.DecodeError, KeyError):
        return False


def _ids_in(stored: Raw) -> frozenset[str]:
    if is_null(stored):
        return frozenset()
    ids = _IDS.decode(stored)
    return frozenset([ids] if isinstance(ids, str) else ids)


def _inner(field: Field, value: Raw) -> Iterator[Target]:
    if field.spec.is_nested:
        yield from targets([field], {field.slug: value})
