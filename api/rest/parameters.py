"""Query parameters (behaviour.md §4.0)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from api.errors import BadRequest
from api.rest.wire import MAX_LIMIT, MAX_OFFSET, timestamp
from write_side.domain.events import STATUSES
from write_side.domain.identity import BASE_LANGUAGE, PRODUCTION
from write_side.domain.locales import check_locale
from write_side.domain.refusals import shortened
from write_side.domain.text import unstorable
from write_side.domain.values import utc_of, with_plus
from write_side.domain.workspace import check_environment_name

_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:\.[0-9]*)?", re.ASCII)
_TIME = "use an ISO 8601 time in the past, like 2026-01-31T09:30:00Z or 2026-01-31"

Query = Mapping[str, str]


def paging(query: Query, default_limit: int) -> tuple[int, int]:
    """The limit and the offset, clamped; text that is not a number counts as absent."""
    limit, offset = _number(query.get("limit", "")), _number(query.get("offset", ""))
    return clamped_limit(limit, default_limit), clamped_offset(offset)


def limit(query: Query, default: int, most: int) -> int:
    """The limit alone, clamped to 1 to ``most``."""
    return clamped_limit(_number(query.get("limit", "")), default, most)


def clamped_limit(limit: int | None, default: int, most: int = MAX_LIMIT) -> int:
    return default if limit is None else min(max(limit, 1), most)


def clamped_offset(offset: int | None) -> int:
    return min(max(offset or 0, 0), MAX_OFFSET)


def _number(text: str) -> int | None:
    """ASCII digits with an optional sign; a fraction is cut off."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    # 20 digits exceed every bound, and Python refuses to convert thousands.
    number = int(digits.lstrip("0")[:20] or "0")
    return -number if sign == "-" else number


def names(text: str) -> list[str]:
    """The names in a comma-separated list, without the spaces around them."""
    return [name.strip() for name in text.split(",")]


def status(query: Query) -> str:
    return any_status(query) or "published"


def any_status(query: Query) -> str | None:
    """None for any."""
    value = query.get("status") or None
    if value is not None and value not in STATUSES:
        raise BadRequest(f"Unknown status '{shortened(value)}': use published, draft or archived")
    return value


def language(query: Query) -> str:
    """Not checked: an unknown one matches nothing."""
    return searchable(query.get("language") or BASE_LANGUAGE)


def type_slug(query: Query) -> str | None:
    slug = query.get("type")
    return searchable(slug) if slug else None


def searchable(text: str) -> str:
    """The text if PostgreSQL can store it, else "", which matches no slug and no language."""
    return "" if unstorable(text) else text


def locale(query: Query) -> str:
    return check_locale(query.get("locale") or BASE_LANGUAGE)


def as_of(query: Query) -> datetime | None:
    """None for now. ``point_in_time`` checks that the time has passed."""
    text = query.get("asOf")
    return parse_time(with_plus(text)) if text else None


def parse_time(text: str) -> datetime:
    """An ISO 8601 date or date-time, converted to UTC; without an offset it is UTC. Raises
    BadRequest."""
    time = utc_of(text)
    if time is None:
        raise BadRequest(f"Unknown time '{shortened(text)}' in asOf: {_TIME}")
    return time


def future_time(time: datetime) -> BadRequest:
    return BadRequest(f"The time '{timestamp(time)}' in asOf is in the future: {_TIME}")


def environment(query: Query, header: str | None, default: str = PRODUCTION) -> str:
    """The query parameter takes precedence over the header (§4.0)."""
    name = query.get("environment") or header or default
    check_environment_name(name)
    return name
