"""Requests for the change feed, and the pages that they name (ADR 48)."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from api.changes.bodies import ChangeView, IncludedEntries
from api.context import Call
from api.errors import BadRequest, Gone, NotVisibleYet
from api.rest import parameters
from api.rest.request_checks import wait_until_visible
from api.rest.tokens import ChangePosition
from read_side import changes
from read_side.changes import (
    BEGINNING,
    END,
    MOST,
    ChangePage,
    ChangeSelection,
)
from write_side.domain.events import CHANGE_KINDS, ChangeKind
from write_side.domain.identity import is_slug
from write_side.domain.refusals import shortened

PAGE = 100
CURRENT_BYTES = 16 * 1024 * 1024
"""The size of the entries on a page. If they are larger, the page has fewer changes, but at least
one."""
NOW = "now"
RESUME = "Last-Event-ID"
UNKNOWN_AFTER = "Unknown after: use next or an id of this environment's changes, or now"
UNKNOWN_EVENT_ID = f"Unknown {RESUME}: use the id of one of this environment's changes"


class ChangesRequest(Struct, frozen=True):
    """``after``: a token, NOW, or "" for the beginning (of what is kept)."""

    view: ChangeView
    after: str
    limit: int

    @classmethod
    def of(cls, call: Call) -> ChangesRequest:
        """``Last-Event-ID`` takes precedence over ``after``. Raises BadRequest."""
        query = call.request.query
        type_slug = query.get("contentType") or None
        if type_slug is not None and not is_slug(type_slug):
            raise BadRequest(
                f"Unknown contentType '{shortened(type_slug)}': use the slug of one content type"
            )
        types = () if type_slug is None else (type_slug,)
        selection = ChangeSelection(types, kinds(query.get("events", "")), call.published_only)
        service, entries = call.service, None
        if includes_entries(query.get("include", "")):
            turns = service.large_bodies.turns
            entries = IncludedEntries(service.read_model, call.locale, CURRENT_BYTES, turns)
        view = ChangeView(service.change_tokens, call.scope, selection, entries)
        limit = parameters.limit(query, PAGE, MOST)
        after = call.request.headers.get(RESUME) or query.get("after", "")
        return cls(view, after, limit)

    def token_after(self, page: ChangePage) -> str:
        """The token of an empty page. Only selected changes determine it, so that it says nothing
        about changes that the key may not see."""
        if self.after in ("", NOW):
            return self.view.token(page.previous)
        return self.after


async def first_page(call: Call, request: ChangesRequest) -> ChangePage:
    """The page that the request names. Raises BadRequest, Gone, NotVisibleYet."""
    view = request.view
    after, proof = await _start(call, request)
    page = await changes.changes_after(
        call.service.read_model, view.scope, view.selection, after, request.limit
    )
    if proof is not None and proof != ChangePosition.of(page.anchor):
        # The read model may have gone back: after a crash of PostgreSQL, or with a rollback.
        if page.through < after:
            raise NotVisibleYet
        raise Gone
    oldest = _oldest_kept(call)
    if request.after and oldest is not None and page.changes and page.changes[0].at < oldest:
        raise Gone
    return page


async def _start(call: Call, request: ChangesRequest) -> tuple[int, ChangePosition | None]:
    """The position after which the page begins, once it can be read, and the change that must be
    there."""
    service, oldest = call.service, _oldest_kept(call)
    if request.after == NOW:
        return END, None
    if not request.after:
        if oldest is None:
            return BEGINNING, None
        return await changes.position_before(service.read_model, call.scope, oldest), None
    after = service.change_tokens.position(call.scope, request.after)
    if after is None:
        is_resumed = call.request.headers.get(RESUME)
        raise BadRequest(UNKNOWN_EVENT_ID if is_resumed else UNKNOWN_AFTER)
    if after.position > service.checkpoint.position:
        # If it is beyond the log, the log was restored to an earlier point.
        await wait_until_visible(service, after.position, Gone())
    return after.position, after


def _oldest_kept(call: Call) -> datetime | None:
    """The time from which on changes are kept; None for all."""
    days = call.service.settings.changes_kept_days
    return call.service.access.store_time() - timedelta(days=days) if days else None


def includes_entries(text: str) -> bool:
    """Raises BadRequest."""
    if text not in ("", "entry"):
        raise BadRequest(f"Unknown include '{shortened(text)}': use entry")
    return text != ""


def kinds(text: str) -> tuple[ChangeKind, ...]:
    """The kinds that the text names, or all. Raises BadRequest."""
    names = parameters.names(text) if text else []
    unknown = next((name for name in names if name not in CHANGE_KINDS), None)
    if unknown is not None:
        raise BadRequest(
            f"Unknown event '{shortened(unknown)}' in events: use {', '.join(CHANGE_KINDS)}"
        )
    return tuple(kind for kind in CHANGE_KINDS if kind in names) or CHANGE_KINDS
