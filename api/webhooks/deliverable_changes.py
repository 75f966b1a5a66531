"""The change feed as the deliverer reads it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from api.changes.bodies import ChangeView, TooLarge
from api.rest.tokens import ChangeTokens
from api.rest.wire import encode
from api.webhooks.message import Message, message_of
from read_side.changes import ChangePage, ChangeSelection, changes_after
from read_side.pool import Pool
from write_side.domain.change_kinds import KINDS, Kind
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.webhook import Webhook

PAGE = 100
"""Changes that are read at a time, at most, of each content type of an endpoint."""
CURRENT_BYTES = 4 * 1024 * 1024
"""The size of the entries on a page. If they are larger, the page has one change."""


class DeliverableChange(Struct, frozen=True):
    """``position``: in the log."""

    position: int
    message: Message


class DeliverablePage(Struct, frozen=True):
    """Changes in the order of the log. Up to ``position``, the endpoint selects no others."""

    changes: Sequence[DeliverableChange]
    position: int


class FeedChanges(Struct, frozen=True):
    """The changes of the read model, which has a change exactly when it can be read."""

    read_model: Pool
    tokens: ChangeTokens

    async def page(self, endpoint: Webhook, after: int, limit: int) -> DeliverablePage:
        """The next changes that the endpoint selects, about ``limit``. Raises
        ReadModelUnavailable."""
        kinds = tuple(kind for kind in KINDS if kind in endpoint.events) or KINDS
        found = await self._select(endpoint, kinds, after, limit)
        locale = BASE_LANGUAGE if endpoint.include_entry else None
        view = ChangeView(self.tokens, endpoint.scope, ChangeSelection(None, kinds), locale)
        records = found.changes
        try:
            current = await view.current(self.read_model, records, CURRENT_BYTES)
        except TooLarge:
            records = records[:1]
            current = await view.current(self.read_model, records, CURRENT_BYTES)
        shown = view.changes(records, view.previous(found), current)
        changes = [
            DeliverableChange(
                record.position, message_of(change.id, change.type, record.at, encode(change))
            )
            for record, change in zip(records, shown, strict=True)
        ]
        return DeliverablePage(changes, changes[-1].position if changes else found.through)

    async def _select(
        self, endpoint: Webhook, kinds: tuple[Kind, ...], after: int, limit: int
    ) -> ChangePage:
        """Merges a page for each content type of the endpoint: each has an index."""
        pages = [
            await changes_after(
                self.read_model, endpoint.scope, ChangeSelection(slug, kinds), after, limit
            )
            # Without duplicates, because merged() requires pages that do not overlap.
            for slug in dict.fromkeys(endpoint.types) or (None,)
        ]
        return pages[0] if len(pages) == 1 else merged(pages)


def merged(pages: Sequence[ChangePage]) -> ChangePage:
    """One page of several selections, which must not overlap. Beyond the last change of a page that
    is not the last, there may be more of its selection."""
    through = min(page.through for page in pages)
    known = min([through, *(page.changes[-1].position for page in pages if not page.is_last)])
    changes = (change for page in pages for change in page.changes)
    previous = [page.previous for page in pages if page.previous is not None]
    return ChangePage(
        sorted((one for one in changes if one.position <= known), key=lambda one: one.position),
        pages[0].anchor,
        max(previous, key=lambda change: change.position, default=None),
        through,
        all(page.is_last for page in pages) and known == through,
    )
