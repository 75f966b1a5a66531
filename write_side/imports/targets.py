"""What the cells of references and media name, looked up for a whole file at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Raw, Struct

from write_side.domain.definition import Field
from write_side.domain.identity import BASE_LANGUAGE, Scope
from write_side.domain.text import unstorable
from write_side.domain.values import Target, targets
from write_side.imports.cells import BadCell, check_storable, listed, names_in, value_of
from write_side.imports.rows import Draft
from write_side.media_library import media_files
from write_side.repository import Repository


class Targets(Struct, frozen=True):
    """All that the names of a file may mean.

    ``types``: entry id → slug of its type, rows of the file included. ``by_slug``: the slugs that
    a field may point at, by the types it takes. ``own``: slug → entry id of the file's own rows,
    which are of type ``own_type``. ``files``: id or URL → ids of media files.
    """

    types: Mapping[str, str]
    by_slug: Mapping[tuple[str, ...], Mapping[str, list[tuple[str, str]]]]
    own: Mapping[str, str]
    own_type: str
    files: Mapping[str, list[str]]

    def value_of(self, field: Field, cell: str) -> Raw:
        """The value of a cell, its names resolved. Raises BadCell."""
        check_storable(cell)
        if field.type == "reference":
            return listed(field, [self._entry(field, name) for name in names_in(field, cell)])
        if field.type == "media":
            return listed(field, [self._file(name) for name in names_in(field, cell)])
        value = value_of(field, cell)
        for target in targets([field], {field.slug: value}):
            self._check(target)
        return value

    def _check(self, target: Target) -> None:
        """What a repeater refers to, which it does by id alone."""
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

    def _file(self, name: str) -> str:
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
    repository: Repository,
) -> Targets:
    """One query for all ids, one for all files, one for each set of types that fields take."""
    names: dict[tuple[str, ...], set[str]] = {}
    ids: set[str] = set()
    has_media = False
    for field, cell in _cells(drafts):
        if field.type == "reference":
            names.setdefault(field.to, set()).update(names_in(field, cell))
        inner = _inside(field, cell) if field.type == "repeater" else []
        ids.update(target.id for target in inner)
        has_media = has_media or "media" in (field.type, *(one.field.type for one in inner))
    types = await repository.types_of_entries(scope, ids.union(*names.values()))
    by_slug = {
        to: await repository.entries_by_slug(scope, to, BASE_LANGUAGE, found)
        for to, found in names.items()
    }
    types |= dict.fromkeys(own.values(), own_type)
    files = await _files(scope, repository) if has_media else {}
    return Targets(types, by_slug, own, own_type, files)


def _cells(drafts: Iterable[Draft]) -> Iterator[tuple[Field, str]]:
    """Those that can be looked up; what the others lack is said where they are valued."""
    for draft in drafts:
        yield from ((field, cell) for _, field, cell in draft.cells if not unstorable(cell))


def _inside(field: Field, cell: str) -> list[Target]:
    try:
        return list(targets([field], {field.slug: value_of(field, cell)}))
    except BadCell:
        return []


async def _files(scope: Scope, repository: Repository) -> dict[str, list[str]]:
    library = await media_files(repository, scope.workspace)
    files: dict[str, list[str]] = {}
    for file in library:
        files.setdefault(file.url, []).append(file.id)
    return files | {file.id: [file.id] for file in library}


def _or(types: Iterable[str]) -> str:
    return " or ".join(types)
