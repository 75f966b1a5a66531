"""The state of the deliveries of all endpoints, for `/metrics` and `contentlog doctor`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from read_side.pool import Pool
from read_side.webhooks import webhooks, webhooks_waiting
from write_side.domain.webhook import Webhook
from write_side.store.webhook_cursors import Cursors, Totals

EndpointState = Literal["on", "failing", "off"]


class EndpointStatus(Struct, frozen=True):
    """``waiting``: the seconds since the oldest change that is to be delivered; 0 without one."""

    endpoint: Webhook
    is_failing: bool
    waiting: float

    @property
    def state(self) -> EndpointState:
        if self.endpoint.off is not None:
            return "off"
        return "failing" if self.is_failing else "on"


class WebhooksStatus(Struct, frozen=True):
    totals: Totals
    endpoints: list[EndpointStatus]


async def read_webhooks_status(cursors: Cursors, read_model: Pool) -> WebhooksStatus:
    """Raises what the databases raise."""
    totals, endpoints = await cursors.totals(), await webhooks(read_model)
    found = await cursors.find(one.key for one in endpoints)
    # The cursor of an endpoint that was removed is not that of a new one with its name.
    own = {
        one.key: found[one.key]
        for one in endpoints
        if one.key in found and found[one.key].created == one.created
    }
    waiting = await webhooks_waiting(
        read_model, {name: cursor.position for name, cursor in own.items()}
    )
    return WebhooksStatus(
        totals,
        [
            EndpointStatus(
                one,
                one.key in own and own[one.key].failing_since is not None,
                waiting.get(one.key, 0.0),
            )
            for one in endpoints
        ],
    )
