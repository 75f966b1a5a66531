"""What the cells of references and media name, looked up for a whole file at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw, Struct

from write_side.domain.definition import Field
from write_side.domain.identity import Scope
from write_side.domain.refusals import InvalidText
from write_side.domain.text import NotJSON, minified
from write_side.domain.values import NULL, Target, is_null, targets
from write_side.imports.cells import BadCell, json_of, listed, names_in, same
from write_side.imports.rows import Bad, Cell, Draft, Names
from write_side.repository import Repository
from write_side.slices import in_slices

_IDS = msgspec.json.Decoder(list[str] | str)


class Found(Struct, frozen=True):
    """The value of a cell, and the slugs of the rows of the file that it refers to."""

    value: Raw
    rows: tuple[str, ...] = ()


class Targets(Struct, frozen=True):
    """All that the names of a file may mean.

    ``types``: entry id → slug of its type. ``by_slug``: the slugs that a field may point at, by the
    types it takes. ``own``: slug → entry id of those of the file's rows that are no entries yet,
    which are of type ``own_type``. ``files``: id or URL → ids of media files.
    """

    types: Mapping[str, str]
    by_slug: Mapping[tuple[str, ...], Mapping[str, list[tuple[str, str]]]]
    own: Mapping[str, str]
    own_type: str
    files: Mapping[str, list[str]]

    def value_of(self, cell: Cell, held: Raw = NULL) -> Found:
        """What a cell that is not blank says. Raises BadCell.

        ``held``: the entry's value. What it refers to already is accepted, though it may be gone,
        and so is a value that could not be given anew.
        """
        if isinstance(cell.value, Bad):
            return Found(_held_all_the_same(cell, held, cell.value.reason))
        if isinstance(cell.value, Names):
            kept = _ids_in(held)
            found = [self._named(cell.field, name, kept) for name in cell.value.names]
            own = (name for name, target in found if target == self.own.get(name))
            return Found(listed(cell.field, [target for _, target in found]), tuple(own))
        assert cell.value is not None, "blank cells have no value"
        if cell.field.type == "repeater":
            self._check_inner(cell.field, cell.value, held)
        return Found(cell.value)

    def _named(self, field: Field, name: str, kept: frozenset[str]) -> tuple[str, str]:
        if name in kept:
            return name, name
        return name, (self._entry if field.type == "reference" else self._file)(field, name)

    def _check_inner(self, field: Field, value: Raw, held: Raw) -> None:
        """What a repeater refers to, which it does by id alone."""
        kept = {target.held_as for target in _inner(field, held)}
        for target in _inner(field, value):
            if target.held_as not in kept:
                self._check(target)

    def _check(self, target: Target) -> None:
        refers = f"{target.path} refers to {target.id!r}, which"
        if target.field.type == "media":
            if target.id not in self.files.get(target.id, ()):
                raise BadCell(f"{refers} is the id of no file of the media library")
        elif target.id not in self.types:
            raise BadCell(f"{refers} is the id of no entry")
        else:
            self._check_type(target.field, target.id, f"{refers} ")

    def _check_type(self, field: Field, entry_id: str, inside: str = "") -> None:
        if field.to and self.types[entry_id] not in field.to:
            found = self.types[entry_id]
            raise BadCell(f"{inside}is an entry of type {found}, not {_or(field.to)}")

    def _entry(self, field: Field, name: str) -> str:
        """Ids come first, then slugs among the allowed types (readings)."""
        if name in self.types:
            self._check_type(field, name)
            return name
        found = {entry for entry, _ in self.by_slug[field.to].get(name, [])}
        if name in self.own and (not field.to or self.own_type in field.to):
            found.add(self.own[name])
        if not found:
            kind = f"of type {_or(field.to)} " if field.to else ""
            raise BadCell(f"names no entry: there is none {kind}with the id or slug {name!r}")
        if len(found) > 1:
            raise BadCell(f"is ambiguous: {len(found)} entries have the slug {name!r}, give the id")
        return found.pop()

    def _file(self, _field: Field, name: str) -> str:
        found = self.files.get(name, [])
        if not found:
            raise BadCell(f"names no file: the media library has none with the id or URL {name!r}")
        if len(found) > 1:
            raise BadCell(f"is ambiguous: these files have that URL: {', '.join(found)}")
        return found[0]


async def look_up(
    drafts: Iterable[Draft],
    own: Mapping[str, str],
    own_type: str,
    scope: Scope,
    language: str,
    repository: Repository,
) -> Targets:
    """One query for all ids, one for all files, one or two for each set of types that fields
    take."""
    names: dict[tuple[str, ...], set[str]] = {}
    ids: set[str] = set()
    has_media = False
    async for draft in in_slices(drafts):
        for cell in draft.cells:
            if isinstance(cell.value, Names) and cell.field.type == "reference":
                names.setdefault(cell.field.to, set()).update(cell.value.names)
            inner = list(_inner(cell.field, cell.value)) if isinstance(cell.value, Raw) else []
            ids.update(target.id for target in inner)
            has_media = has_media or "media" in (
                cell.field.type,
                *(target.field.type for target in inner),
            )
    types = await repository.types_of_entries(scope, ids.union(*names.values()))
    by_slug = {
        to: await _by_slug(found - types.keys(), to, own, own_type, scope, language, repository)
        for to, found in names.items()
    }
    files = await _files(scope, repository) if has_media else {}
    return Targets(types, by_slug, own, own_type, files)


async def _by_slug(
    names: set[str],
    to: tuple[str, ...],
    own: Mapping[str, str],
    own_type: str,
    scope: Scope,
    language: str,
    repository: Repository,
) -> dict[str, list[tuple[str, str]]]:
    """In the import's language, and in all others what that has not."""
    found = await repository.entries_by_slug(scope, to, language, names)
    lacking = names - found.keys() - (own.keys() if not to or own_type in to else set())
    return found | (await repository.entries_by_slug(scope, to, None, lacking) if lacking else {})


def _held_all_the_same(cell: Cell, held: Raw, reason: str) -> Raw:
    """The entry's value where the cell says just that, such as an option that was removed."""
    if is_null(held):
        raise BadCell(reason)
    try:
        match cell.field.type:
            case "select" if bytes(held) == bytes(json_of(cell.text)):
                said = held  # blanks around it included
            case "select":
                said = listed(cell.field, names_in(cell.field, cell.text))
            case "repeater":
                said = Raw(minified(cell.text.encode()))
            case _:
                raise BadCell(reason)
    except (NotJSON, InvalidText, UnicodeEncodeError):
        raise BadCell(reason) from None
    if not same(cell.field, said, held):
        raise BadCell(reason)
    return held


def _ids_in(held: Raw) -> frozenset[str]:
    if is_null(held):
        return frozenset()
    ids = _IDS.decode(held)
    return frozenset([ids] if isinstance(ids, str) else ids)


def _inner(field: Field, value: Raw) -> Iterator[Target]:
    if field.type == "repeater":
        yield from targets([field], {field.slug: value})


async def _files(scope: Scope, repository: Repository) -> dict[str, list[str]]:
    library = await repository.media(scope.workspace)
    files: dict[str, list[str]] = {}
    for file in library:
        files.setdefault(file.url, []).append(file.id)
    return files | {file.id: [file.id] for file in library}


def _or(types: Iterable[str]) -> str:
    return " or ".join(types)
