"""Kinds of fields in words, and how a cell is written for each (specification §4.6)."""

from __future__ import annotations

from write_side.domain.definition import Field

_KINDS = {
    "text": ("text", "text"),
    "rich_text": ("rich text", "rich text"),
    "number": ("number", "number"),
    "boolean": ("yes or no", "yes or no"),
    "datetime": ("date and time", "date and time"),
    "select": ("choice", "choices"),
    "reference": ("reference", "references"),
    "media": ("media file", "media files"),
    "json": ("JSON", "JSON"),
    "repeater": ("repeater", "repeater"),
}

HOW_TO_WRITE = {
    "text": "Any text.",
    "rich_text": "Any text, with its markup.",
    "number": "A number, such as 1250.5 or 1,250.5.",
    "boolean": "true or false, yes or no, 1 or 0, on or off.",
    "datetime": "2026-01-31 or 2026-01-31T09:30:00Z; a range: 2026-01-31 / 2026-02-14.",
    "select": "The value of an option, not its label; several with commas between them.",
    "reference": "The slug or ID of an entry; several with commas between them.",
    "media": "The URL or ID of a file of the media library; several with commas between them.",
    "json": "JSON text.",
    "repeater": 'JSON text: [{"name": "value"}].',
}


def kind_of(field: Field) -> str:
    if field.range:
        return "date and time range"
    return _KINDS[field.type][field.multiple]
