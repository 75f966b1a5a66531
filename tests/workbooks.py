"""Handwritten workbooks: valid ones that no library writes, and malicious ones."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"

PARTS = {
    "[Content_Types].xml": f"""<Types xmlns="{_PACKAGE}/content-types">
        <Default Extension="xml" ContentType="application/xml"/>
        <Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
        <Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>
        </Relationships>""",
    "xl/workbook.xml": f"""<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}"><workbookPr/><sheets>
        <sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{_PACKAGE}/relationships">
        <Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>
        <Relationship Id="r2" Type="{_OFFICE}/styles" Target="styles.xml"/>
        <Relationship Id="r3" Type="{_OFFICE}/sharedStrings" Target="/xl/sharedStrings.xml"/>
        </Relationships>""",
    "xl/styles.xml": f"""<styleSheet xmlns="{MAIN}">
        <numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts>
        <cellStyleXfs><xf numFmtId="0"/></cellStyleXfs>
        <cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/>
        <xf numFmtId="46"/></cellXfs></styleSheet>""",
    "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>Title</t></si></sst>',
}
"""The parts of a workbook except its sheet. Styles: 0 general, 1 date, 2 date and time, 3 time, 4
duration."""

SHEET = "xl/worksheets/sheet1.xml"
HEADINGS = '<row r="1"><c r="A1" t="inlineStr"><is><t>Title</t></is></c></row>'


def sheet(rows: str, before: str = "") -> str:
    return f'<worksheet xmlns="{MAIN}">{before}<sheetData>{rows}</sheetData></worksheet>'


def strings(*items: str) -> str:
    return f'<sst xmlns="{MAIN}">{"".join(f"<si>{item}</si>" for item in items)}</sst>'


def workbook(rows: str = HEADINGS, parts: Mapping[str, str | None] | None = None) -> bytes:
    """Builds a workbook with these rows. ``parts`` replace the usual ones; None omits a part."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**PARTS, SHEET: sheet(rows), **(parts or {})}.items():
            if part is not None:
                archive.writestr(name, part)
    return file.getvalue()


def in_column(*cells: str) -> str:
    """Returns a column of cells below the heading Title. Each cell is the inside of ``<c …>``,
    without ``r``."""
    rows = "".join(f"<row><c{cell}</c></row>" for cell in cells)
    return f'<row><c t="inlineStr"><is><t>Title</t></is></c></row>{rows}'


def bomb(size: int) -> bytes:
    """A sheet that decompresses to ``size`` bytes, a thousand times its compressed size."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = deflate.compress(sheet(HEADINGS).encode()) + deflate.flush(zlib.Z_FULL_FLUSH)
    again = deflate.compress(bytes(1024**2)) + deflate.flush(zlib.Z_FULL_FLUSH)
    packed = first + again * (size // 1024**2) + deflate.flush()
    return claiming(_stored(packed), SHEET, size, method=zipfile.ZIP_DEFLATED)


def _stored(part: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, usual in PARTS.items():
            archive.writestr(name, usual)
        archive.writestr(SHEET, part)
    return file.getvalue()


def claiming(document: bytes, name: str, size: int, **others: int) -> bytes:
    """Returns the archive with another decompressed size, and ``others``, in the headers of one
    part."""
    changed = bytearray(document)
    for signature, shift, length in ((b"PK\x03\x04", 0, 30), (b"PK\x01\x02", 2, 46)):
        start = document.index(signature)
        while document[start + length :][: len(name)] != name.encode():
            start = document.index(signature, start + 4)
        for field, value in {**others, "size": size}.items():
            at, width = _FIELDS[field]
            at += start + shift
            changed[at : at + width] = value.to_bytes(width, "little")
    return bytes(changed)


_FIELDS = {"flags": (6, 2), "method": (8, 2), "crc": (14, 4), "size": (22, 4)}
"""Offsets and widths in the local header; the central header has the fields two bytes later."""
