"""The zip file that a workbook is: nothing is unpacked beyond its bounds, whatever headers say."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from write_side.imports.files import FileRefused, Limits

DAMAGED = "is damaged: open it in a spreadsheet program and save it anew as .xlsx"
_CHUNK = 64 * 1024
_END = b"PK\x05\x06"
_END_BYTES = 22
_ZIP64 = b"PK\x06\x07"
_ZIP64_BYTES = 20
_COMMENT_BYTES = 65_535


class Archive:
    """Parts by name. Raises FileRefused where headers promise too much, or something odd."""

    def __init__(self, file: BinaryIO, limits: Limits) -> None:
        _check_directory(file, limits)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise FileRefused(DAMAGED) from None
        self._parts: dict[str, zipfile.ZipInfo] = {}
        self._room = limits.unpacked_bytes
        self._check(self._zip.infolist(), limits)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    def chunks(self, name: str) -> Iterator[bytes]:
        """A part's bytes. Raises FileRefused, possibly after the first ones."""
        part = self._parts.get(name.lower())
        if part is None:
            raise FileRefused(DAMAGED)
        try:
            with self._zip.open(part) as stream:
                while chunk := stream.read(_CHUNK):
                    self._room -= len(chunk)
                    if self._room < 0:
                        raise FileRefused("unpacks to more than it says: it is not imported")
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError):
            raise FileRefused(DAMAGED) from None

    def _check(self, parts: list[zipfile.ZipInfo], limits: Limits) -> None:
        if len(parts) > limits.parts:
            raise FileRefused(f"has more than {limits.parts:,} parts: {_SMALLER}")
        for part in parts:
            if part.filename.startswith("/") or ".." in part.filename.split("/"):
                raise FileRefused("names files outside of itself: it is not imported")
            if part.flag_bits & 0x1:
                raise FileRefused("is encrypted: save it without a password")
            if self._parts.setdefault(part.filename.lower(), part) is not part:
                raise FileRefused(DAMAGED)
            if part.file_size > max(limits.ratio_from_bytes, limits.ratio * part.compress_size):
                raise FileRefused(_unpacks(part.file_size))
        total = sum(part.file_size for part in parts)
        if total > limits.unpacked_bytes:
            raise FileRefused(_unpacks(total))


_SMALLER = "copy the rows to import into a new workbook"


def _unpacks(size: int) -> str:
    return f"unpacks to {size:,} bytes, which is too much: {_SMALLER}"


def _check_directory(file: BinaryIO, limits: Limits) -> None:
    """Before all entries are read into memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _COMMENT_BYTES - _END_BYTES - _ZIP64_BYTES))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_BYTES:
        raise FileRefused(f"is cut off, or {DAMAGED}")
    if tail[max(0, at - _ZIP64_BYTES) : at].startswith(_ZIP64):
        raise FileRefused("is packed for more than 4 GB: save it anew in a spreadsheet program")
    if int.from_bytes(tail[at + 12 : at + 16], "little") > limits.directory_bytes:
        raise FileRefused(f"has more than {limits.parts:,} parts: {_SMALLER}")
