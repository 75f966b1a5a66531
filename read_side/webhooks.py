"""The webhook endpoints of all workspaces, as the log has them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from read_side.pool import Pool, fetch
from write_side.domain.webhook import Name, Webhook


class WebhooksMark(Struct, frozen=True):
    """Changes whenever an endpoint changes."""

    endpoints: int
    position: int


async def webhooks(pool: Pool) -> list[Webhook]:
    """All of them. Raises ReadModelUnavailable."""
    return [msgspec.convert(dict(row), Webhook) for row in await fetch(pool, "webhooks")]


async def webhooks_waiting(pool: Pool, cursors: Mapping[Name, int]) -> dict[Name, float]:
    """For each endpoint that is on and has a change to deliver after its cursor: the seconds since
    the oldest one. Raises ReadModelUnavailable."""
    rows = await fetch(
        pool,
        "webhooks_waiting",
        [workspace for workspace, _ in cursors],
        [name for _, name in cursors],
        list(cursors.values()),
    )
    return {(row["workspace"], row["name"]): row["seconds"] for row in rows}


async def webhooks_mark(pool: Pool) -> WebhooksMark:
    """Raises ReadModelUnavailable."""
    [row] = await fetch(pool, "webhooks_mark")
    return WebhooksMark(**row)
