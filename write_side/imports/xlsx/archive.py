"""The zip file that a workbook is: nothing is unpacked beyond its bounds, whatever headers say."""

from __future__ import annotations

from functools import partial
from typing import BinaryIO
from xml.etree.ElementTree import Element, tostring
from zipfile import ZipFile, ZipInfo

from openpyxl.xml.constants import CONTYPES_NS, PKG_REL_NS, SHEET_MAIN_NS

from write_side.imports.files import FileRefused, Limits
from write_side.imports.xlsx.markup import Take, parse

DAMAGED = "is damaged: open it in a spreadsheet program and save it anew as .xlsx"
_SMALLER = "copy the rows to import into a new workbook"
_CHUNK = 64 * 1024
_END = b"PK\x05\x06"
_END_BYTES = 22
_ZIP64 = b"PK\x06\x07"
_ZIP64_BYTES = 20
_COMMENT_BYTES = 65_535

_TOLD = frozenset(
    (
        f"{{{CONTYPES_NS}}}Default",
        f"{{{CONTYPES_NS}}}Override",
        f"{{{PKG_REL_NS}}}Relationship",
        f"{{{SHEET_MAIN_NS}}}workbookPr",
        f"{{{SHEET_MAIN_NS}}}sheets",
    )
)


class Archive(ZipFile):
    """Parts by name, of any case. No part gives more than its header says.

    Raises FileRefused where headers promise too much, and what zipfile raises.
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

    def elements(self, name: str, wanted: frozenset[str], take: Take | None = None) -> Element:
        """See ``markup.parse``."""
        with self.open(name) as stream:
            return parse(iter(partial(stream.read, _CHUNK), b""), wanted, take)

    def read(self, name: str | ZipInfo, pwd: bytes | None = None) -> bytes:
        """Of the parts that openpyxl reads, all that it is to know: the rest may be of any size."""
        assert isinstance(name, str)
        assert pwd is None
        return tostring(self.elements(name, _TOLD))

    def _check(self, parts: list[ZipInfo], limits: Limits) -> None:
        if len(parts) > limits.parts:
            raise FileRefused(f"has more than {limits.parts:,} parts: {_SMALLER}")
        if len(self._parts) < len(parts):
            raise FileRefused(DAMAGED)
        for part in parts:
            if part.filename.startswith("/") or ".." in part.filename.split("/"):
                raise FileRefused("names files outside of itself: it is not imported")
            if part.flag_bits & 0x1:
                raise FileRefused("is encrypted: save it without a password")
            if part.file_size > max(limits.ratio_from_bytes, limits.ratio * part.compress_size):
                raise FileRefused(_unpacks(part.file_size))
        total = sum(part.file_size for part in parts)
        if total > limits.unpacked_bytes:
            raise FileRefused(_unpacks(total))


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
