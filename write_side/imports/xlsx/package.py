"""Which parts of a workbook's archive are its sheets, its styles and its strings."""

from __future__ import annotations

from typing import BinaryIO, NoReturn

from msgspec import Struct
from openpyxl.packaging.manifest import Manifest
from openpyxl.packaging.relationship import Relationship
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.xml.constants import ARC_CONTENT_TYPES

from write_side.imports.files import Epoch, FileRefused
from write_side.imports.xlsx.archive import Archive

_STRICT = "http://purl.oclc.org/ooxml/"
_SAVE = "save it as «Excel workbook (.xlsx)»"
_OTHERS = {
    "sheet.binary": f"is a binary workbook, .xlsb: {_SAVE}",
    "macroenabled": f"is a workbook with macros, .xlsm: {_SAVE}",
    "template": f"is a template: {_SAVE}",
    "wordprocessingml": "is a Word document: copy its table into a spreadsheet",
    "presentationml": "is a presentation: copy its table into a spreadsheet",
}


class Sheet(Struct, frozen=True):
    name: str
    part: str
    is_hidden: bool


class Package(Struct, frozen=True):
    sheets: tuple[Sheet, ...]
    epoch: Epoch
    styles: str | None
    strings: str | None


def package_in(archive: Archive, file: BinaryIO) -> Package:
    """Raises FileRefused where it is no workbook, with what to do, and whatever openpyxl does."""
    if ARC_CONTENT_TYPES not in archive:
        _refuse_other(archive)
    reader = ExcelReader(file, keep_links=False)
    reader.archive = archive  # in the place of one without bounds
    reader.read_manifest()
    _check_types(reader.package)
    reader.read_workbook()
    related: dict[str, Relationship] = reader.parser.rels  # type: ignore[assignment]
    if any(rel.Type.startswith(_STRICT) for rel in related.values()):
        raise FileRefused(f"is a «Strict Open XML» workbook: {_SAVE}")
    parts = {rel.Type.rpartition("/")[2]: rel.target for rel in related.values()}
    return Package(
        tuple(_sheets(reader)),
        1904 if reader.wb.epoch == CALENDAR_MAC_1904 else 1900,
        parts.get("styles"),
        parts.get("sharedStrings"),
    )


def _sheets(reader: ExcelReader) -> list[Sheet]:
    """Worksheets alone: charts have sheets too."""
    return [
        Sheet(sheet.name, rel.target, sheet.state not in ("visible", None))
        for sheet, rel in reader.parser.find_sheets()
        if rel.Type.endswith("/worksheet")
    ]


def _check_types(manifest: Manifest) -> None:
    """A part of the type ``….main`` is what the whole file is."""
    for part in (*manifest.Override, *manifest.Default):
        content_type = part.ContentType.lower()
        for word, reason in _OTHERS.items():
            if ".main" in content_type and word in content_type:
                raise FileRefused(reason)


def _refuse_other(archive: Archive) -> NoReturn:
    if "mimetype" in archive and b"opendocument" in archive.open("mimetype").read(100):
        raise FileRefused(f"is an OpenDocument file, .ods: {_SAVE}")
    if "Index/Document.iwa" in archive or "Index.zip" in archive:
        raise FileRefused("is a Numbers file: export it as Excel or CSV")
    raise FileRefused("is a zip archive: unpack it and import the file that is in it")
