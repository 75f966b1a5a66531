"""The zip archive of a workbook, checked before anything in it is decompressed."""

from __future__ import annotations

from typing import BinaryIO
from xml.etree.ElementTree import Element
from xml.sax.handler import ContentHandler
from zipfile import ZipFile, ZipInfo

from defusedxml import sax
from defusedxml.ElementTree import fromstring

from write_side.imports.table import FileRefused, Limits

REPAIR = "open it in a spreadsheet program and save it again as .xlsx"
DAMAGED = f"is damaged: {REPAIR}"
_SMALLER = "copy the rows to import into a new workbook"
_END = b"PK\x05\x06"
_END_BYTES = 22
_ZIP64 = b"PK\x06\x07"
_ZIP64_BYTES = 20
_COMMENT_BYTES = 65_535
_CHUNK = 1024**2
"""Large, because expat scans an unfinished element again for each chunk."""


class Archive(ZipFile):
    """Parts by name; case does not matter. ``zipfile`` stops at the size that a header declares.

    Raises FileRefused if the declared sizes exceed the limits, and what ``zipfile`` raises.
    """

    def __init__(self, file: BinaryIO, limits: Limits) -> None:
        _check_directory(file, limits)
        super().__init__(file)
        self._parts = {part.filename.lower(): part for part in self.infolist()}
        self._check(self.infolist(), limits)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    def getinfo(self, name: str) -> ZipInfo:
        return self._parts[name.lower()]

    def root(self, name: str) -> Element:
        """The root element of a small part."""
        root: Element = fromstring(self.read(name), forbid_dtd=True)
        return root

    def parse(self, name: str, handler: ContentHandler) -> None:
        """Parses a large part as a stream. Raises what the handler raises."""
        parser = sax.make_parser()
        parser.forbid_dtd = True
        parser.setContentHandler(handler)
        with self.open(name) as stream:
            while chunk := stream.read(_CHUNK):
                parser.feed(chunk)
        parser.close()

    def _check(self, parts: list[ZipInfo], limits: Limits) -> None:
        if len(parts) > limits.parts:
            raise FileRefused(f"has more than {limits.parts:,} parts: {_SMALLER}")
        if len(self._parts) < len(parts):
            raise FileRefused(DAMAGED)
        for part in parts:
            if part.filename.startswith("/") or ".." in part.filename.split("/"):
                raise FileRefused(f"contains a path outside the archive: {REPAIR}")
            if part.flag_bits & 0x1:
                raise FileRefused("is encrypted: save it without a password")
            if part.file_size > max(limits.ratio_from_bytes, limits.ratio * part.compress_size):
                raise FileRefused(_too_large(part.file_size))
        total = sum(part.file_size for part in parts)
        if total > limits.unpacked_bytes:
            raise FileRefused(_too_large(total))


def _too_large(size: int) -> str:
    return f"decompresses to {size:,} bytes, which is too large: {_SMALLER}"


def _check_directory(file: BinaryIO, limits: Limits) -> None:
    """Limits the directory before ``zipfile`` reads it into memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _COMMENT_BYTES - _END_BYTES - _ZIP64_BYTES))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_BYTES:
        raise FileRefused(f"is cut off, or {DAMAGED}")
    if tail[max(0, at - _ZIP64_BYTES) : at].startswith(_ZIP64):
        raise FileRefused("is a zip archive for more than 4 GB: save it again in a spreadsheet")
    if int.from_bytes(tail[at + 12 : at + 16], "little") > limits.directory_bytes:
        raise FileRefused(f"has more than {limits.parts:,} parts: {_SMALLER}")
