"""Checks of the endpoints of webhooks and of the process that delivers to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from api.webhooks.status import EndpointStatus, WebhooksStatus, read_webhooks_status
from deploy.doctor.findings import Finding, ok, problem, warning
from read_side.pool import Pool
from write_side.domain.webhook import Name
from write_side.store.webhook_cursors import Cursors

FAR_BEHIND = 300.0
"""Seconds."""


async def look_at_webhooks(cursors: Cursors, read_model: Pool) -> list[Finding]:
    status = await read_webhooks_status(cursors, read_model)
    names = [one.endpoint.key for one in status.endpoints]
    unsigned = {name for name in names if not await cursors.secrets(*name)}
    return list(check_webhooks(status, unsigned))


def check_webhooks(status: WebhooksStatus, unsigned: Collection[Name]) -> Iterator[Finding]:
    """``unsigned``: endpoints without a secret."""
    on = [one for one in status.endpoints if one.endpoint.off is None]
    if on and not status.totals.active:
        text = f"no process delivers, and {len(on)} endpoints are on"
        yield problem("webhooks", text, "contentlog webhooks")
    elif on:
        yield ok("webhooks", f"a process delivers to {len(on)} endpoints")
    for one in status.endpoints:
        yield from _check_endpoint(one, is_signed=one.endpoint.key not in unsigned)


def _check_endpoint(one: EndpointStatus, *, is_signed: bool) -> Iterator[Finding]:
    endpoint = one.endpoint
    name = f"endpoint '{endpoint.name}' of '{endpoint.workspace}'"
    command = f"{endpoint.name} --workspace {endpoint.workspace}"
    if endpoint.off is not None:
        text = f"{name} is switched off: {endpoint.off}"
        yield warning("webhooks", text, f"contentlog webhook enable {command}")
    elif not is_signed:
        text = f"{name} has no secret to sign with, so nothing is delivered to it"
        yield problem("webhooks", text, f"contentlog webhook rotate {command}")
    elif one.waiting > FAR_BEHIND:
        state = "fails" if one.is_failing else "is slow"
        text = f"{name} is {one.waiting / 60:,.0f} minutes behind: it {state}"
        yield warning("webhooks", text, f"contentlog webhook deliveries {command}")
