"""Templates, the functions they call, and static files. All output is escaped, without
exception."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api.dashboard.dashboard_request import DashboardRequest, link
from api.http.default_headers import ROOT
from api.http.static_files import StaticFiles
from api.rest.wire import timestamp
from write_side.domain.events import STATUSES
from write_side.domain.locales import locale_name
from write_side.domain.refusals import count
from write_side.domain.workspace import EDIT, OPERATE, VIEW

_HERE = Path(__file__).parent
_DAY = len("2026-01-31")
_STATIC = StaticFiles("dashboard", "static")


def day(at: datetime) -> str:
    """``31 Jan 2026, 09:30``, in UTC."""
    return f"{at.astimezone(UTC):%-d %b %Y, %H:%M}"


def short(at: datetime) -> str:
    """Without the year if it is the current one."""
    this_year = at.astimezone(UTC).year == datetime.now(UTC).year
    return f"{at.astimezone(UTC):%-d %b, %H:%M}" if this_year else day(at)


def clock(at: datetime) -> str:
    """``10:38``, with the day before it if it is not today; in UTC."""
    is_today = at.astimezone(UTC).date() == datetime.now(UTC).date()
    return f"{at.astimezone(UTC):%H:%M}" if is_today else short(at)


def moment(at: datetime) -> str:
    """ISO 8601 with milliseconds, for ``<time datetime>``."""
    return timestamp(at.astimezone(UTC))


def written_date(text: str) -> str:
    """A value of a date field, with its original offset: ``31 Jan 2026``,
    ``31 Jan 2026, 09:30``, ``31 Jan 2026, 09:30 UTC``. Other text is unchanged."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    seconds = f":{at:%S}" if at.second else ""
    time = f", {at:%H:%M}{seconds}" if len(text) > _DAY else ""
    offset = "" if at.tzinfo is None else " UTC" if not at.utcoffset() else f" {text[-6:]}"
    return f"{at.day} {at:%b} {at.year}{time}{offset}"


def language_name(code: str) -> str:
    """``French (France), fr-FR``; the code alone if it is unknown."""
    name = locale_name(code)
    return f"{name}, {code}" if name else code


def language_options(codes: Iterable[str]) -> list[tuple[str, str]]:
    """Options of a select, by the languages' names."""
    return sorted(((code, language_name(code)) for code in codes), key=lambda one: one[1])


@cache
def static_address(name: str) -> str:
    """The URL of a static file; it changes with the file."""
    digest = hashlib.sha256(_STATIC.read(name)).hexdigest()[:12]
    return f"{ROOT}/static/{name}?v={digest}"


async def static_file(request: DashboardRequest) -> web.StreamResponse:
    """Not rate-limited: the files are in memory, and a browser requests each version once."""
    response = await _STATIC.file(request.request)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


ENVIRONMENT = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
ENVIRONMENT.filters.update(
    day=day,
    short=short,
    clock=clock,
    written_date=written_date,
    moment=moment,
    number="{:,}".format,
    count=count,
    languages=language_options,
)
ENVIRONMENT.globals.update(
    static=static_address,
    link=link,
    STATUSES=[(status, status.capitalize()) for status in STATUSES],
    EDIT=EDIT,
    OPERATE=OPERATE,
    VIEW=VIEW,
)


async def render(template: str, **context: Any) -> str:
    """In a thread, because a page with many columns or rows takes 100 ms. A process compiles each
    template when it first needs it, which takes up to 60 ms: one that serves only the API does not
    need the memory."""
    return await asyncio.to_thread(_render, template, context)


def _render(template: str, context: dict[str, Any]) -> str:
    return ENVIRONMENT.get_template(template).render(context)
