"""Values as keys: byte strings that sort as the values do (ADR 43).

Text sorts by code points, numbers by their exact decimal value, times as instants in UTC, and false
before true. Every key sorts below INCOMPARABLE, and that below MISSING.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from write_side.domain.identity import Scope, is_id
from write_side.domain.values import moment_of

MISSING = b"\xff"
"""The key of an entry without a value."""
INCOMPARABLE = b"\xfe"
"""The key of every value that exists but is too long to be compared."""
NO_ELEMENTS = b""
"""The only key of an empty array."""
LONGEST = 1_000
"""Bytes of a text, and digits of a number, that a key can hold. An entry of a B-tree holds 2,704
bytes."""
MAX_EXPONENT = 16_383
"""The exponent of the first digit of a number that a key can hold, above and below zero."""

_ZERO = b"\x80"
_NEGATIVE, _POSITIVE = b"\x7f", b"\x81"
_COMPLEMENT = bytes(255 - byte for byte in range(256))
_NUMBER = re.compile(rb"(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
_LONGEST_EXPONENT = 4_000  # digits; Python does not read integers of more than 4,300
_FRACTION = re.compile(r"[.,](\d+)")
_BEGINNING = datetime(1, 1, 1)
_BEGINNING_UTC = _BEGINNING.replace(tzinfo=UTC)
_STRING = msgspec.json.Decoder(str)
_BOOLEANS = {"false": b"\x00", "true": b"\x01"}


class Ordering(Struct, frozen=True):
    """How the values of a field type are compared.

    ``of_json`` takes one value as JSON, ``of_text`` the same as the text of a query parameter. Both
    return its key, INCOMPARABLE if no key can hold it, and None if it is of another type.
    ``takes`` describes the values for refusals. ``has_order``: one can be less than another.
    ``has_parts``: they are texts, which can begin with or contain another. ``json``: their type in
    JSON.
    """

    takes: str
    of_json: Callable[[Raw], bytes | None]
    of_text: Callable[[str], bytes | None]
    has_order: bool = False
    has_parts: bool = False
    json: str = "string"


def text_key(text: str) -> bytes:
    """UTF-8, whose bytes sort by code points."""
    key = text.encode()
    return key if len(key) <= LONGEST else INCOMPARABLE


def number_key(text: bytes) -> bytes | None:
    """The key of a number in JSON: its sign, the exponent of its first digit, and its digits
    without leading and trailing zeros; complemented if it is negative."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, exponent = match.groups()
    digits = whole + (fraction or b"")
    significant = digits.lstrip(b"0")
    if not significant:
        return _ZERO
    if exponent is not None and len(exponent) > _LONGEST_EXPONENT:
        return INCOMPARABLE
    first = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(significant))
    significant = significant.rstrip(b"0")
    if abs(first) > MAX_EXPONENT or len(significant) > LONGEST:
        return INCOMPARABLE
    magnitude = (first + MAX_EXPONENT).to_bytes(2, "big") + significant
    if sign:
        # The last byte sorts a number after those whose digits begin with its own.
        return _NEGATIVE + magnitude.translate(_COMPLEMENT) + b"\xff"
    return _POSITIVE + magnitude


def instant_key(text: str) -> bytes | None:
    """The key of an ISO 8601 date (midnight) or date-time (in UTC unless it has an offset)."""
    moment = moment_of(text)
    if moment is None:
        return None
    fraction = _FRACTION.search(text)
    beyond = fraction[1][6:].ljust(3, "0") if fraction else "0"  # Python ends at microseconds
    offset = moment.utcoffset() or timedelta()
    return _nanoseconds(moment.replace(tzinfo=None) - _BEGINNING - offset, int(beyond))


def time_key(at: datetime) -> bytes:
    """The key of a time with a zone, cut to the milliseconds that responses show."""
    since = at - _BEGINNING_UTC
    return _nanoseconds(since, -(since.microseconds % 1_000) * 1_000)


def _nanoseconds(since: timedelta, more: int) -> bytes:
    # An offset may bring the first day of the calendar before its beginning.
    seconds = (since.days + 1) * 86_400 + since.seconds
    return ((seconds * 1_000_000 + since.microseconds) * 1_000 + more).to_bytes(10, "big")


def _string(key: Callable[[str], bytes | None]) -> Callable[[Raw], bytes | None]:
    def of_json(value: Raw) -> bytes | None:
        try:
            return key(_STRING.decode(value))
        except msgspec.ValidationError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return INCOMPARABLE  # half of a surrogate pair, which no text has

    return of_json


def _boolean(value: Raw) -> bytes | None:
    return _BOOLEANS.get(bytes(value).decode("latin-1"))


TEXT = Ordering("a string", _string(text_key), text_key, has_order=True, has_parts=True)
ID = Ordering("an id", _string(text_key), text_key)
ENTRY_ID = Ordering(
    "the id of an entry, a UUID in lower case",
    _string(text_key),
    lambda text: text_key(text) if is_id(text) else None,
)
OPTION = Ordering("the value of an option", _string(text_key), text_key)
NUMBER = Ordering(
    "a number",
    lambda value: number_key(bytes(value)),
    lambda text: number_key(text.encode()),
    has_order=True,
    json="number",
)
BOOLEAN = Ordering("true or false", _boolean, _BOOLEANS.get, json="boolean")
INSTANT = Ordering(
    "an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z",
    _string(instant_key),
    instant_key,
    has_order=True,
)


def list_id(scope: Scope, type_id: str, status: str, language: str, path: str) -> UUID:
    """The id of the list of one path's values, among the entries of one content type, status and
    language. None of the parts has a null character."""
    parts = (scope.workspace, scope.environment, type_id, status, language, path)
    return UUID(bytes=blake2b("\0".join(parts).encode(), digest_size=16).digest())
