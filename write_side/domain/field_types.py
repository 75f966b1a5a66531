"""The field types: one row each, with everything that distinguishes it from the others.

No other module tests the name of a type; they read the row (``Field.spec``). To add a type, add its
name to ``FieldType`` and its row to ``FIELD_TYPES``; ``tests/unit/test_field_types.py`` reports
what is still missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Raw, Struct

from write_side.domain import cells, json_schemas, keys, values
from write_side.domain.json_schemas import Definitions, Schema

if TYPE_CHECKING:  # a field looks itself up in this table
    from write_side.domain.definition import Field

FieldType = Literal[
    "text",
    "rich_text",
    "number",
    "boolean",
    "datetime",
    "select",
    "reference",
    "media",
    "json",
    "repeater",
    "section",
]
Setting = Literal[
    "multiple", "range", "options", "to", "fields", "required", "indexed", "searchable"
]
Display = Literal[
    "text",
    "markup",
    "number",
    "flag",
    "date",
    "choice",
    "entries",
    "media",
    "code",
    "table",
    "none",
]


class FieldTypeSpec(Struct, frozen=True, kw_only=True, dict=True):
    """Everything that the service needs to know about a type.

    ``takes`` is the value in words, for refusals and the documentation of the API; ``takes_many``
    the same for a field with ``multiple`` or ``range``, and ``cell_takes_many`` as it is written in
    a spreadsheet's cell. The values of the field's options follow.
    ``fits`` says whether a value that is not null is valid for the type; the elements of a nested
    type are checked field by field. ``schema`` describes the same values as JSON Schema.
    ``read_cell`` reads the text of a spreadsheet's cell and raises BadCell; ``write_cell`` is its
    inverse; ``cell_help`` and ``cell_help_many`` explain the notation to people. ``label`` and
    ``label_many`` name the type to people. ``display`` selects how the dashboard shows a value. It
    has two other effects: imports can read a ``number`` with a decimal comma, and searches ignore
    the tags of ``markup``.
    ``settings`` are the properties of a field that the type allows, ``needs`` those it must have.
    ``refers_to``: values are ids of entries or of media files. ``any_json``: every JSON value is
    valid, so ``""`` and ``[]`` are not empty, and two values are equal only if their text is.
    ``keeps_spaces``: white space alone is a value in a cell. ``reads_serials``: a number in a
    workbook's cell may be a date. ``ordering``: how values are compared if the field is indexed.
    """

    takes: str
    takes_many: str = ""
    cell_takes_many: str = ""
    fits: Callable[[Field, Raw], bool]
    schema: Callable[[Field, Definitions], Schema]
    read_cell: Callable[[Field, str], Raw]
    write_cell: Callable[[Field, Raw, cells.Names], str]
    cell_help: str
    cell_help_many: str = ""
    label: str
    label_many: str = ""
    display: Display
    settings: tuple[Setting, ...] = ("required",)
    needs: tuple[Setting, ...] = ()
    translatable: bool = False
    refers_to: Literal["entry", "media"] | None = None
    any_json: bool = False
    keeps_spaces: bool = False
    reads_serials: bool = False
    ordering: keys.Ordering | None = None

    @cached_property
    def holds_values(self) -> bool:
        """A section only lays out the editor (behaviour.md §2.1)."""
        return self.display != "none"

    @cached_property
    def is_nested(self) -> bool:
        """Values are arrays of objects with their own fields."""
        return "fields" in self.settings

    def expected(self, field: Field) -> str:
        """A description of the values that the field takes."""
        return self._with_options(field, self.takes_many)

    def expected_in_cell(self, field: Field) -> str:
        """The same for a spreadsheet's cell."""
        return self._with_options(field, self.cell_takes_many or self.takes_many)

    def _with_options(self, field: Field, takes_many: str) -> str:
        takes = takes_many if field.multiple or field.range else self.takes
        options = ", ".join(option.value for option in field.options)
        return f"{takes}: {options}" if options else takes

    @property
    def description(self) -> str:
        """A description of the type's values under all settings."""
        options = " its options" if "options" in self.needs else ""
        return " or ".join(f"{takes}{options}" for takes in (self.takes, self.takes_many) if takes)

    def label_of(self, field: Field) -> str:
        return self.label_many if field.multiple or field.range else self.label

    def cell_help_of(self, field: Field) -> str:
        return self.cell_help_many if field.multiple or field.range else self.cell_help


FIELD_TYPES: dict[FieldType, FieldTypeSpec] = {
    "text": FieldTypeSpec(
        takes="a string",
        fits=values.is_string,
        schema=json_schemas.always({"type": "string"}),
        read_cell=cells.read_text,
        write_cell=cells.write_text,
        cell_help="Any text.",
        label="text",
        display="text",
        settings=("required", "indexed", "searchable"),
        translatable=True,
        keeps_spaces=True,
        ordering=keys.TEXT,
    ),
    "rich_text": FieldTypeSpec(
        takes="a string",
        fits=values.is_string,
        schema=json_schemas.always({"type": "string"}),
        read_cell=cells.read_text,
        write_cell=cells.write_text,
        cell_help="Any text, with its markup.",
        label="rich text",
        display="markup",
        settings=("required", "searchable"),
        translatable=True,
        keeps_spaces=True,
    ),
    "number": FieldTypeSpec(
        takes="a finite number",
        fits=values.is_finite_number,
        schema=json_schemas.always({"type": "number"}),
        read_cell=cells.read_number,
        write_cell=cells.write_number,
        cell_help="A number, such as 1250.5 or 1,250.5; a decimal comma if you choose it.",
        label="number",
        display="number",
        settings=("required", "indexed"),
        ordering=keys.NUMBER,
    ),
    "boolean": FieldTypeSpec(
        takes="true or false",
        fits=values.is_boolean,
        schema=json_schemas.always({"type": "boolean"}),
        read_cell=cells.read_boolean,
        write_cell=cells.write_json,
        cell_help="true or false, yes or no, 1 or 0, on or off.",
        label="yes or no",
        display="flag",
        settings=("required", "indexed"),
        ordering=keys.BOOLEAN,
    ),
    "datetime": FieldTypeSpec(
        takes="an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z",
        takes_many='a range {"from": …, "to": …} of ISO 8601 dates or date-times',
        cell_takes_many=cells.RANGE,
        fits=values.is_date_or_range,
        schema=json_schemas.date,
        read_cell=cells.read_date,
        write_cell=cells.write_date,
        cell_help="2026-01-31 or 2026-01-31T09:30:00Z, with the day first if you choose it.",
        cell_help_many="2026-01-31 / 2026-02-14, with the day first if you choose it.",
        label="date and time",
        label_many="date and time range",
        display="date",
        settings=("required", "range", "indexed"),
        reads_serials=True,
        ordering=keys.INSTANT,
    ),
    "select": FieldTypeSpec(
        takes="one of",
        takes_many="an array of",
        cell_takes_many="a list, with commas between the options, of",
        fits=values.is_choice,
        schema=json_schemas.choice,
        read_cell=cells.read_options,
        write_cell=cells.write_list,
        cell_help="The value or label of an option, in upper or lower case.",
        cell_help_many="Values or labels of options, in upper or lower case, with commas between "
        "them.",
        label="choice",
        label_many="choices",
        display="choice",
        settings=("required", "multiple", "options", "indexed"),
        needs=("options",),
        ordering=keys.OPTION,
    ),
    "reference": FieldTypeSpec(
        takes="the id of an entry",
        takes_many="an array of ids of entries",
        fits=values.is_one_or_many,
        schema=json_schemas.always({"type": "string", "format": "uuid"}),
        read_cell=cells.read_list,
        write_cell=cells.write_list,
        cell_help="The slug or ID of an entry.",
        cell_help_many="Slugs or IDs of entries, with commas between them.",
        label="reference",
        label_many="references",
        display="entries",
        settings=("required", "multiple", "to", "indexed"),
        refers_to="entry",
        ordering=keys.ENTRY_ID,
    ),
    "media": FieldTypeSpec(
        takes="the id of a media file",
        takes_many="an array of ids of media files",
        fits=values.is_one_or_many,
        schema=json_schemas.always({"type": "string"}),
        read_cell=cells.read_list,
        write_cell=cells.write_list,
        cell_help="The URL or ID of a file of the media library.",
        cell_help_many="URLs or IDs of files of the media library, with commas between them.",
        label="media file",
        label_many="media files",
        display="media",
        settings=("required", "multiple", "indexed"),
        refers_to="media",
        ordering=keys.ID,
    ),
    "json": FieldTypeSpec(
        takes="any JSON",
        fits=lambda _field, _value: True,
        schema=json_schemas.always({}),
        read_cell=cells.read_json,
        write_cell=cells.write_json,
        cell_help="JSON text.",
        label="JSON",
        display="code",
        any_json=True,
    ),
    "repeater": FieldTypeSpec(
        takes="an array of objects keyed by its field slugs",
        fits=values.is_array_of_objects,
        schema=json_schemas.elements,
        read_cell=cells.read_json,
        write_cell=cells.write_json,
        cell_help='JSON text, with the slugs of its fields: [{"slug": "value"}]. '
        "References and files are IDs.",
        label="repeater",
        display="table",
        settings=("required", "fields"),
        needs=("fields",),
    ),
    "section": FieldTypeSpec(
        takes="nothing",
        fits=lambda _field, _value: False,
        schema=json_schemas.always({"not": {}}),
        read_cell=cells.read_text,
        write_cell=cells.write_text,
        cell_help="",
        label="section",
        display="none",
        settings=(),
    ),
}
