"""A sheet of a workbook as a table."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO, NoReturn
from xml.etree.ElementTree import Element

from defusedxml.common import DefusedXmlException
from msgspec import Struct
from openpyxl.packaging.relationship import Relationship, get_dependents, get_rels_path
from openpyxl.utils.cell import coordinate_to_tuple
from openpyxl.xml.constants import ARC_CONTENT_TYPES, ARC_ROOT_RELS, REL_NS, SHEET_MAIN_NS

from write_side.domain.text import composed
from write_side.imports.table import (
    CellError,
    Choice,
    Epoch,
    FileRefused,
    Limits,
    NoHeadings,
    Record,
    Row,
    Table,
    headings_and_rows,
)
from write_side.imports.xlsx.archive import DAMAGED, REPAIR, Archive
from write_side.imports.xlsx.continuations import SHEET, is_continuation, joined
from write_side.imports.xlsx.number_formats import number_kinds
from write_side.imports.xlsx.serials import reads_like_a_serial
from write_side.imports.xlsx.sheet import Rows, SheetHandler, StringsHandler

MOST_MERGED = 10_000
_ENTITIES = f"declares entities or a document type, which no spreadsheet does: {REPAIR}"
_STRICT = "http://purl.oclc.org/ooxml/"
_SAVE = "save it as 'Excel Workbook (.xlsx)'"
_OTHERS = {
    "sheet.binary": f"is a binary workbook, .xlsb: {_SAVE}",
    "macroenabled": f"is a workbook with macros, .xlsm: {_SAVE}",
    "template": f"is a template: {_SAVE}",
    "wordprocessingml": "is a Word document: copy its table into a spreadsheet",
    "presentationml": "is a presentation: copy its table into a spreadsheet",
}
_HIDDEN = "The row is hidden in the workbook: delete it there if it should not be imported"
_TOTALS = (
    "The row has the totals of a table: delete it in the workbook if it should not be imported"
)
_PROPERTIES = f"{{{SHEET_MAIN_NS}}}workbookPr"
_ID = f"{{{REL_NS}}}id"
_RANGE = re.compile(r"([A-Z]{1,3}[1-9][0-9]{0,6}):([A-Z]{1,3}[1-9][0-9]{0,6})")
_SHEET = f"{{{SHEET_MAIN_NS}}}sheets/{{{SHEET_MAIN_NS}}}sheet"


class Sheet(Struct, frozen=True):
    name: str
    part: str
    is_hidden: bool


class Workbook(Struct, frozen=True):
    """``styles`` and ``strings`` are names of parts."""

    sheets: tuple[Sheet, ...]
    epoch: Epoch
    styles: str | None
    strings: str | None


def workbook_table(file: BinaryIO, name: str, choice: Choice, limits: Limits) -> Table:
    """The table of an .xlsx file. Raises FileRefused with what follows the file's name."""
    with _damage_refused():
        archive = Archive(file, limits)
        workbook = _workbook(archive)
        sheet = _chosen(workbook.sheets, choice)
        kinds = number_kinds(archive, workbook.styles) if workbook.styles else []
        cells = SheetHandler(kinds, workbook.epoch, limits)
        archive.parse(sheet.part, cells)
        more = _continuation(archive, workbook, sheet, cells)
        totals = _total_rows(archive, sheet)
        strings = _strings([cells.rows, more], archive, workbook.strings, limits)
    try:
        headings, rows = headings_and_rows(
            _records(cells.rows, strings), limits, limits.workbook_cell_characters
        )
    except NoHeadings as refused:
        others = [one for one in workbook.sheets if one is not sheet]
        if not others:
            raise
        raise FileRefused(f"{refused}, or choose another sheet: {_names(others)}") from None
    continued = list(_records(more, strings))
    is_ours = is_continuation(continued)
    table = Table(
        name,
        headings,
        rows,
        sheets=tuple(one.name for one in workbook.sheets if not (is_ours and one.name == SHEET)),
        sheet=sheet.name,
        epoch=workbook.epoch,
        texts=(*cells.texts, *_texts(cells.rows, strings)),
        cell_errors=tuple(cells.cell_errors),
        warnings=(
            *_merged_cells(rows, cells.merged),
            *_row_warnings(rows, cells.hidden_rows, _HIDDEN),
            *_row_warnings(rows, totals, _TOTALS),
        ),
    )
    return joined(table, continued if is_ours else [], limits)


def _merged_cells(rows: Sequence[Row], ranges: Iterable[str]) -> Iterator[CellError]:
    """A warning for each blank cell that is merged with another one, in up to MOST_MERGED cells."""
    numbers = [row.number for row in rows]
    left = MOST_MERGED
    for name in ranges:
        match = _RANGE.fullmatch(name)
        if match is None or not rows:
            continue
        (top, first), (bottom, last) = map(coordinate_to_tuple, match.groups())
        start, stop = bisect_left(numbers, top), bisect_right(numbers, bottom)
        columns = range(first - 1, min(last, len(rows[0].cells)))
        left -= (stop - start) * len(columns)
        if left < 0:
            return
        reason = f"is merged with {match[1]}: only that cell has a value"
        for row in rows[start:stop]:
            for column in columns:
                if row.cells[column] == "":
                    yield CellError(row.number, column, reason)


def _row_warnings(rows: Iterable[Row], numbers: set[int], reason: str) -> Iterator[CellError]:
    """A warning for each row with one of the numbers."""
    return (CellError(row.number, None, reason) for row in rows if row.number in numbers)


def _total_rows(archive: Archive, sheet: Sheet) -> set[int]:
    """The numbers of the rows with the totals of tables (ECMA-376 part 1, 18.5.1.2). Damage in the
    parts of tables is ignored, because only a warning depends on them."""
    with suppress(Exception):
        related = get_dependents(archive, get_rels_path(sheet.part))  # type: ignore[no-untyped-call]
        tables = [archive.root(rel.target) for rel in related if _type(rel) == "table"]
        return {
            coordinate_to_tuple(table.attrib["ref"].partition(":")[2])[0]
            for table in tables
            if int(table.get("totalsRowCount", 0))
        }
    return set()


def _continuation(archive: Archive, workbook: Workbook, sheet: Sheet, read: SheetHandler) -> Rows:
    """The rows of the sheet with continued texts, within the limits that the other sheet left
    over."""
    cells = SheetHandler([], workbook.epoch, read.limits_left)
    for one in workbook.sheets:
        if one.name == SHEET and one.part != sheet.part:
            try:
                archive.parse(one.part, cells)
            except FileRefused as refused:
                raise FileRefused(f"{refused} (on the sheet {SHEET!r})") from None
    return cells.rows


@contextmanager
def _damage_refused() -> Iterator[None]:
    """Turns every other error into a refusal, and ignores openpyxl's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (FileRefused, MemoryError):
            raise
        except DefusedXmlException:
            raise FileRefused(_ENTITIES) from None
        except Exception as error:
            # Parsers report damage in many ways, and this process reads only the file.
            raise FileRefused(DAMAGED) from error


def _workbook(archive: Archive) -> Workbook:
    """Raises FileRefused, with what to do, if it is another kind of file."""
    if ARC_CONTENT_TYPES not in archive:
        _refuse_other(archive)
    _check_types(archive.root(ARC_CONTENT_TYPES))
    part = next(
        rel.target
        for rel in get_dependents(archive, ARC_ROOT_RELS)
        if _type(rel) == "officeDocument"
    )
    rels: str = get_rels_path(part)  # type: ignore[no-untyped-call]
    related = get_dependents(archive, rels).to_dict()
    if any(rel.Type.startswith(_STRICT) for rel in related.values()):
        raise FileRefused(f"is a 'Strict Open XML' workbook: {_SAVE}")
    root = archive.root(part)
    properties = root.find(_PROPERTIES)
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    parts = {_type(rel): rel.target for rel in related.values()}
    return Workbook(
        tuple(_sheets(root, related)),
        1904 if is_1904 else 1900,
        parts.get("styles"),
        parts.get("sharedStrings"),
    )


def _sheets(workbook: Element, related: Mapping[str, Relationship]) -> Iterator[Sheet]:
    """Only worksheets; charts have sheets too."""
    for sheet in workbook.iterfind(_SHEET):
        part = related[sheet.get(_ID, "")]
        if _type(part) == "worksheet":
            is_hidden = sheet.get("state", "visible") != "visible"
            yield Sheet(sheet.get("name", ""), part.target, is_hidden)


def _type(relationship: Relationship) -> str:
    """The last part of the URL of the type."""
    return relationship.Type.rpartition("/")[2]


def _check_types(content_types: Element) -> None:
    """The part with a type ``….main`` gives the type of the whole file."""
    for part in content_types:
        content_type = part.get("ContentType", "").lower()
        for word, reason in _OTHERS.items():
            if ".main" in content_type and word in content_type:
                raise FileRefused(reason)


def _refuse_other(archive: Archive) -> NoReturn:
    if "mimetype" in archive and b"opendocument" in archive.open("mimetype").read(100):
        raise FileRefused(f"is an OpenDocument file, .ods: {_SAVE}")
    if "Index/Document.iwa" in archive or "Index.zip" in archive:
        raise FileRefused("is a Numbers file: export it as Excel or CSV")
    raise FileRefused("is a zip archive: decompress it and import the file inside")


def _chosen(sheets: Sequence[Sheet], choice: Choice) -> Sheet:
    """The chosen sheet, or the first visible one. If no name is the same, spaces around names and
    their Unicode form are ignored."""
    if not sheets:
        raise FileRefused("has no sheet with cells")
    if choice.sheet is None:
        return min(sheets, key=lambda sheet: sheet.is_hidden)
    for same in (str, _composed):
        for sheet in sheets:
            if same(sheet.name) == same(choice.sheet):
                return sheet
    raise FileRefused(f"has no sheet {choice.sheet!r}; expected one of: {_names(sheets)}")


def _composed(name: str) -> str:
    return composed(name).strip()


def _names(sheets: Sequence[Sheet]) -> str:
    return ", ".join(sheet.name for sheet in sheets[:20])


def _strings(
    sheets: Iterable[Rows], archive: Archive, part: str | None, limits: Limits
) -> dict[int, str]:
    """The shared strings of these sheets, by index. Raises KeyError if one does not exist."""
    cells = (cell for rows in sheets for row in rows.values() for cell in row.values())
    indexes = {cell for cell in cells if isinstance(cell, int)}
    if not indexes:
        return {}
    strings = StringsHandler(indexes, limits)
    archive.parse(part or "", strings)
    if len(strings.found) < len(indexes):
        raise KeyError("no such shared string")
    return strings.found


def _texts(rows: Rows, strings: dict[int, str]) -> Iterator[tuple[int, int]]:
    """The cells of shared strings that look like numbers."""
    like_numbers = {index for index, text in strings.items() if reads_like_a_serial(text)}
    for number, row in rows.items() if like_numbers else ():
        for column, cell in row.items():
            if cell in like_numbers:
                yield number, column


def _records(rows: Rows, strings: dict[int, str]) -> Iterator[Record]:
    """Rows as wide as the widest, because a column without a heading is still a column."""
    width = 1 + max((max(row) for row in rows.values()), default=-1)
    for number, row in rows.items():
        cells = [""] * width
        for column, cell in row.items():
            cells[column] = strings[cell] if isinstance(cell, int) else cell
        yield number, cells
