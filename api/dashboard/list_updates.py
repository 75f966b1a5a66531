"""What has changed since a list of entries was shown: newer entries, and whether the projector has
stopped."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.table_pages import ROWS
from api.errors import BadRequest
from api.operations.health import STATUS, ServiceStatus
from read_side.listing import Page
from read_side.paging import EntrySummary, Filters, list_summaries
from write_side.domain.text import shortened

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class ListUpdates(Struct, frozen=True):
    """``since``: the time of the list's newest entry, None if newer entries are not counted.
    ``newer``: up to one page."""

    status: ServiceStatus
    since: str | None
    newer: int = 0

    @property
    def seen(self) -> str:
        """A short value that changes whenever the page has to change."""
        state = self.status.state
        return f"{self.newer}-{'works' if state in ('current', 'behind') else state}"


async def first_updates(
    request: DashboardRequest, filters: Filters, page: int, found: Page[EntrySummary]
) -> ListUpdates:
    """For a list that is being shown. Newer entries are not counted on later pages, nor for a
    search, which would take too long to repeat."""
    status = await request.request.app[STATUS].current()
    if page > 1 or filters.search:
        return ListUpdates(status, None)
    newest = found.rows[0].created_at if found.rows else _BEGINNING
    return ListUpdates(status, newest.astimezone(UTC).isoformat())


async def later_updates(
    request: DashboardRequest, filters: Filters, since: str | None
) -> ListUpdates:
    """Raises BadRequest if ``since`` is not a time."""
    status = await request.request.app[STATUS].current()
    if since is None or filters.search:
        return ListUpdates(status, None)
    at = _time(since)
    found = await list_summaries(*request.read_model, filters, limit=ROWS, offset=0)
    return ListUpdates(status, since, sum(entry.created_at > at for entry in found.rows))


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(f"since '{shortened(text)}' is not a time") from None
