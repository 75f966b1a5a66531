"""The webhook endpoints of all workspaces, as the log has them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from read_side.pool import Pool, fetch
from write_side.domain.identity import Scope
from write_side.domain.webhook import Endpoint, Name
from write_side.postgres.statements import statement

_WEBHOOKS = statement("read_side", "webhooks")
_WAITING = statement("read_side", "webhooks_waiting")
_MARK = statement("read_side", "webhooks_mark")


class WebhookEndpoint(Endpoint, frozen=True, kw_only=True):
    """Empty ``types`` or ``events``: all. ``off``: why it is switched off; None if it is on."""

    url: str
    environment: str
    types: tuple[str, ...]
    events: tuple[str, ...]
    include_entry: bool
    off: str | None

    @property
    def scope(self) -> Scope:
        return Scope(self.workspace, self.environment)


class WebhooksMark(Struct, frozen=True):
    """Changes whenever an endpoint changes."""

    endpoints: int
    position: int


async def webhooks(pool: Pool) -> list[WebhookEndpoint]:
    """All of them. Raises ReadModelUnavailable."""
    return [
        WebhookEndpoint(
            workspace=row["workspace"],
            name=row["name"],
            created=row["created"],
            changed_at=row["changed_at"],
            url=row["url"],
            environment=row["environment"],
            types=tuple(row["types"]),
            events=tuple(row["events"]),
            include_entry=row["include_entry"],
            off=row["off"],
        )
        for row in await fetch(pool, _WEBHOOKS)
    ]


async def webhooks_waiting(pool: Pool, cursors: Mapping[Name, int]) -> dict[Name, float]:
    """For each endpoint that is on and has a change to deliver after its cursor: the seconds since
    the oldest one. Raises ReadModelUnavailable."""
    rows = await fetch(
        pool,
        _WAITING,
        [workspace for workspace, _ in cursors],
        [name for _, name in cursors],
        list(cursors.values()),
    )
    return {(row["workspace"], row["name"]): row["seconds"] for row in rows}


async def webhooks_mark(pool: Pool) -> WebhooksMark:
    """Raises ReadModelUnavailable."""
    [row] = await fetch(pool, _MARK)
    return WebhooksMark(**row)
