"""The webhook endpoints of all workspaces, as the log has them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from read_side.pool import Pool, fetch
from write_side.domain.webhook import Name, Webhook
from write_side.postgres.statements import statement

_WEBHOOKS = statement("read_side", "webhooks")
_WAITING = statement("read_side", "webhooks_waiting")
_MARK = statement("read_side", "webhooks_mark")


class WebhooksMark(Struct, frozen=True):
    """Changes whenever an endpoint changes."""

    endpoints: int
    position: int


async def webhooks(pool: Pool) -> list[Webhook]:
    """All of them. Raises ReadModelUnavailable."""
    return [msgspec.convert(dict(row), Webhook) for row in await fetch(pool, _WEBHOOKS)]


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
