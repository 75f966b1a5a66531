"""The templates, and what they may call. Whatever they show is escaped; none says otherwise."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api.dashboard.visit import ROOT, link
from api.rest.wire import timestamp

HERE = Path(__file__).parent


def day(at: datetime) -> str:
    """As in a table: short, and in UTC like all that the service says."""
    return f"{at.astimezone(UTC):%-d %b %Y, %H:%M}"


def short(at: datetime) -> str:
    """Without the year where it is this one."""
    this_year = at.astimezone(UTC).year == datetime.now(UTC).year
    return f"{at.astimezone(UTC):%-d %b, %H:%M}" if this_year else day(at)


def moment(at: datetime) -> str:
    """For ``<time datetime>`` and where the second matters."""
    return timestamp(at.astimezone(UTC))


def number(n: float) -> str:
    return f"{n:,}"


def count(n: int, one: str, many: str = "") -> str:
    """``1 entry``, ``2,000 entries``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


@cache
def static(name: str) -> str:
    """The address of a file of the pages; another one when the file has changed."""
    digest = hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest()[:12]
    return f"{ROOT}/static/{name}?v={digest}"


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(day=day, short=short, moment=moment, number=number, count=count)
    made.globals.update(static=static, link=link)
    return made


def rendered(template: str, **context: Any) -> str:
    return environment().get_template(template).render(context)
