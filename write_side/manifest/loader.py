"""Reads a manifest from YAML or JSON and checks it as far as possible without its workspace."""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, inspect
from msgspec.inspect import Type

from write_side.domain.refusals import in_words, shortened
from write_side.manifest.consistency import check_consistency
from write_side.manifest.document import Manifest
from write_side.manifest.readers import INVALID, read_values, unreadable
from write_side.manifest.source import SECRET, Path, Source

MAX_BYTES = 2_000_000


class Document(Struct, frozen=True):
    """A manifest, and the places of its values in the text."""

    manifest: Manifest
    source: Source


def load_manifest(path: pathlib.Path) -> Document:
    """The manifest in a file: JSON if its name ends in .json, else YAML. Raises ManifestError."""
    try:
        with path.open("rb") as file:
            document = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise unreadable(Source(str(path)), reason) from None
    return read_manifest(document, str(path), is_json=path.suffix.lower() == ".json")


@cache
def _manifest_type() -> msgspec.inspect.Type:
    return msgspec.inspect.type_info(Manifest)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pauses garbage collection. A manifest has up to a million small objects, all in use, and
    searching them for garbage would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_no_collection()
def read_manifest(document: bytes, name: str, *, is_json: bool = False) -> Document:
    """The manifest in a document; ``name`` is for its errors. Raises ManifestError with all of
    them."""
    source = Source(name)
    if len(document) > MAX_BYTES:
        raise unreadable(source, f"is larger than {MAX_BYTES:,} bytes")
    values = read_values(document, source, is_json=is_json)
    valid = Shape(source).valid(values, _manifest_type())
    if valid is INVALID:
        source.raise_problems()
    manifest = msgspec.convert(valid, Manifest)
    check_consistency(manifest, source)
    source.raise_problems()
    return Document(manifest, source)


class Shape:
    """Checks that values have the types and keys of the Structs, and finds every problem at once.

    The Structs are the only description: like their JSON Schema, this uses msgspec's inspection of
    them.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._placeholders = 0

    def valid(self, value: Any, kind: Type, path: Path = ()) -> Any:
        """The value without its invalid parts, so that the rest can be checked further.

        INVALID if nothing remains. A required text gets a placeholder.
        """
        if value is INVALID:
            return INVALID
        match kind:
            case inspect.UnionType():
                if value is None:
                    return None
                (inner,) = (part for part in kind.types if not isinstance(part, inspect.NoneType))
                return self.valid(value, inner, path)
            case inspect.StructType() if isinstance(value, dict):
                return self._struct(value, kind, path)
            case inspect.VarTupleType() if isinstance(value, list):
                return self._list(value, kind, path)
            case inspect.Metadata(extra_json_schema={"enum": allowed}):
                return self._one_of(value, allowed, path)
            case inspect.Metadata():
                return self.valid(value, kind.type, path)
            case inspect.LiteralType():
                return self._one_of(value, [str(one) for one in kind.values], path)
        if _fits(value, kind):
            return value
        self._refuse_type(value, kind, path)
        return INVALID

    def _one_of(self, value: Any, allowed: Sequence[str], path: Path) -> Any:
        if value in allowed:
            return value
        is_text = isinstance(value, str)
        suggestion = self._source.suggestion(value, allowed) if is_text else None
        shown = f"{shortened(value)!r} is not allowed" if is_text else self._shown(value, path)
        message = f"{shown}; expected {in_words(allowed)}"
        self._source.add(path, message, allowed=allowed, suggestion=suggestion)
        return INVALID

    def _struct(self, value: dict[str, Any], kind: inspect.StructType, path: Path) -> Any:
        self._refuse_unknown_keys(value, [field.encode_name for field in kind.fields], path)
        found: dict[str, Any] = {}
        for field in kind.fields:
            name = field.encode_name
            if name in value:
                found[name] = self.valid(value[name], field.type, (*path, name))
            elif field.required:
                self._source.add(path, f"the key {name!r} is missing")
                found[name] = INVALID
            if found.get(name) is INVALID:
                self._replace(found, field, path)
        return INVALID if INVALID in found.values() else found

    def _refuse_unknown_keys(self, value: dict[str, Any], known: Sequence[str], path: Path) -> None:
        for key in (key for key in value if key not in known):
            message = f"unknown key {shortened(key)!r}; expected {in_words(known)}"
            meant = self._source.suggestion(key, known)
            self._source.add((*path, key), message, is_key=True, allowed=known, suggestion=meant)

    def _replace(self, found: dict[str, Any], field: inspect.Field, path: Path) -> None:
        """Omits an invalid value, or gives a required text a placeholder."""
        name = field.encode_name
        if not field.required:
            del found[name]
            self._omit((*path, name))
        elif isinstance(getattr(field.type, "type", field.type), inspect.StrType):
            self._placeholders += 1
            found[name] = f"missing-{self._placeholders}"
            self._source.broken.add((*path, name))

    def _list(self, value: list[Any], kind: inspect.VarTupleType, path: Path) -> list[Any]:
        every = [self.valid(one, kind.item_type, (*path, n)) for n, one in enumerate(value)]
        kept = [index for index, one in enumerate(every) if one is not INVALID]
        if len(kept) < len(every):
            self._source.kept[path] = kept
            self._omit(path)
        return [every[index] for index in kept]

    def _omit(self, path: Path) -> None:
        self._source.broken.update(path[:length] for length in range(len(path) + 1))

    def _refuse_type(self, value: Any, kind: Type, path: Path) -> None:
        hint = ""
        if isinstance(kind, inspect.StrType) and isinstance(value, bool | int | float):
            hint = ": write it in quotes"
        self._source.add(path, f"{self._shown(value, path)}; expected {_expected(kind)}{hint}")

    def _shown(self, value: Any, path: Path) -> str:
        """A scalar as it is written, and the type as which it is read."""
        if value is None:
            return "is empty"
        if isinstance(value, dict | list):
            return "is a mapping" if isinstance(value, dict) else "is a list"
        if path[-1:] == (SECRET,):
            return f"is {_kind_of(value)}"
        place = self._source.places.get(path)
        written = str(value) if isinstance(value, str) or not place else str(place.text)
        return f"{shortened(written)!r} is {_kind_of(value)}"


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "read as " + ("true" if value else "false")
    return {str: "text", int: "a number", float: "a number"}.get(type(value), "of another type")


def _fits(value: Any, kind: Type) -> bool:
    match kind:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            is_number = isinstance(value, int) and not isinstance(value, bool)
            return is_number and (kind.ge or 0) <= value < (kind.lt or value + 1)
        case _:
            return False


def _expected(kind: Type) -> str:
    match kind:
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return f"a whole number from {kind.ge} to {(kind.lt or 1) - 1}"
        case inspect.StructType():
            names = [field.encode_name for field in kind.fields if field.required]
            return f"a mapping with {in_words(names, 'and')}" if names else "a mapping"
        case _:
            return "a list"
