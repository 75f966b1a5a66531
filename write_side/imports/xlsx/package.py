"""Which parts of a workbook's archive are its sheets, its styles and its strings."""

from __future__ import annotations

import posixpath
from typing import NoReturn

from msgspec import Struct

from write_side.imports.files import Epoch, FileRefused
from write_side.imports.xlsx.archive import DAMAGED, Archive
from write_side.imports.xlsx.markup import elements

_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types "
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships "
_ID = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
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


def package_in(archive: Archive) -> Package:
    """Raises FileRefused where it is no workbook, with what to do."""
    if "_rels/.rels" not in archive:
        _refuse_other(archive)
    root = _relations(archive, "")
    workbook = next((to for kind, to in root.values() if kind.endswith("/officeDocument")), None)
    if workbook is None:
        raise FileRefused(f"is no workbook: {_SAVE}")
    _check_type(archive, workbook)
    related = _relations(archive, workbook)
    if any(kind.startswith(_STRICT) for kind, _ in (*root.values(), *related.values())):
        raise FileRefused(f"is a «Strict Open XML» workbook: {_SAVE}")
    found = elements(archive.chunks(workbook), "sheet", "workbookPr")
    counts_from_1904 = any(
        attributes.get("date1904") in ("1", "true") for _, _, attributes in found
    )
    return Package(
        tuple(_sheets([attributes for _, name, attributes in found if name == "sheet"], related)),
        1904 if counts_from_1904 else 1900,
        _one(related, "/styles"),
        _one(related, "/sharedStrings"),
    )


def _sheets(found: list[dict[str, str]], related: dict[str, tuple[str, str]]) -> list[Sheet]:
    """Worksheets alone: charts have sheets too."""
    sheets = []
    for attributes in found:
        kind, part = related.get(attributes.get(_ID, ""), ("", ""))
        if kind.endswith("/worksheet"):
            is_hidden = attributes.get("state", "visible") != "visible"
            sheets.append(Sheet(attributes.get("name", ""), part, is_hidden))
    return sheets


def _relations(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Kind and part by id. What is outside of the archive is left out."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    return {
        attributes.get("Id", ""): (
            attributes.get("Type", ""),
            posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", ""))).lstrip(
                "/"
            ),
        )
        for _, _, attributes in elements(archive.chunks(path), f"{_RELATIONS}Relationship")
        if attributes.get("TargetMode") != "External"
    }


def _one(related: dict[str, tuple[str, str]], suffix: str) -> str | None:
    return next((part for kind, part in related.values() if kind.endswith(suffix)), None)


def _check_type(archive: Archive, workbook: str) -> None:
    types = elements(archive.chunks("[Content_Types].xml"), f"{_TYPES}Override", f"{_TYPES}Default")
    extension = workbook.rpartition(".")[2]
    for _, _, attributes in types:
        if attributes.get("PartName") == f"/{workbook}" or (
            attributes.get("Extension") == extension
        ):
            content_type = attributes.get("ContentType", "").lower()
            for word, reason in _OTHERS.items():
                if word in content_type:
                    raise FileRefused(reason)


def _refuse_other(archive: Archive) -> NoReturn:
    if "mimetype" in archive and b"opendocument" in b"".join(archive.chunks("mimetype")):
        raise FileRefused(f"is an OpenDocument file, .ods: {_SAVE}")
    if "Index/Document.iwa" in archive or "Index.zip" in archive:
        raise FileRefused("is a Numbers file: export it as Excel or CSV")
    if "[Content_Types].xml" in archive:
        raise FileRefused(DAMAGED)
    raise FileRefused("is a zip archive: unpack it and import the file that is in it")
