"""Bytes as text: by their byte order mark, in strict UTF-8, else as western spreadsheets write."""

from __future__ import annotations

import codecs
import re

from write_side.imports.files import ENCODINGS, FileRefused

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MULTIBYTE = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+")
_SAVE = "save it as «CSV UTF-8», or choose its encoding"


def transcribed(document: bytes, encoding: str | None) -> tuple[str, str]:
    """The text without byte order mark, and its encoding. Raises FileRefused."""
    if encoding is not None and encoding not in ENCODINGS:
        raise FileRefused(f"cannot be read as {encoding!r}: use one of {', '.join(ENCODINGS)}")
    text, encoding = _decoded(document, encoding) if encoding else _found(document)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileRefused(f"is no text: there is a zero byte in line {line}; {_SAVE}")
    return text.removeprefix("\ufeff"), encoding


def _found(document: bytes) -> tuple[str, str]:
    if document.startswith(_UTF16):
        return _decoded(document, "utf-16")
    try:
        return document.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        if document.startswith(codecs.BOM_UTF8) or _is_damaged(document):
            raise _undecodable(document, error, "utf-8") from None
    return _decoded(document, "cp1252")


def _is_damaged(document: bytes) -> bool:
    """Whether it was meant to be UTF-8: as another encoding it would be read as mojibake."""
    replaced = document.decode("utf-8", "replace").count("\ufffd")
    return len(_MULTIBYTE.findall(document)) > replaced


def _decoded(document: bytes, encoding: str) -> tuple[str, str]:
    try:
        return document.decode(encoding), encoding
    except UnicodeDecodeError as error:
        raise _undecodable(document, error, encoding) from None


def _undecodable(document: bytes, error: UnicodeDecodeError, encoding: str) -> FileRefused:
    line = document.count(b"\n", 0, error.start) + 1
    return FileRefused(
        f"is not in {encoding.upper()} (line {line}, byte {error.start + 1}): {_SAVE}"
    )
