"""Reads a manifest from YAML or JSON and checks it as far as possible without its workspace."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from write_side.manifest.consistency import check_consistency
from write_side.manifest.document import Manifest
from write_side.manifest.readers import INVALID, read_values, unreadable
from write_side.manifest.shape import Shape
from write_side.manifest.source import Source

MAX_BYTES = 2_000_000


class Document(Struct, frozen=True):
    """A manifest, and the places of its values in the text."""

    manifest: Manifest
    source: Source


def load_manifest(path: Path) -> Document:
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
