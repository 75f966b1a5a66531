"""Runs webhook deliveries in the background of a test."""

from __future__ import annotations

import ipaddress
from contextlib import AbstractAsyncContextManager
from typing import Any

from api.settings import WebhookSettings
from api.webhooks.process import run_sessions
from tests.integration.api.hook_server import HookServer
from tests.integration.live_projector import in_background
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.domain.webhook import Webhook, new_webhook_secret
from write_side.store.webhook_cursors import Cursors, Delivery

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
SECRET = new_webhook_secret()


def delivering(url: str) -> AbstractAsyncContextManager[None]:
    """Runs `contentlog webhooks` in the background."""
    return in_background(run_sessions(WebhookSettings(url, url, networks=LOOPBACK)))


async def create_webhook(
    builder: ContentBuilder, server: HookServer, name: str = "search", **properties: Any
) -> None:
    definition = {
        "workspace": builder.scope.workspace,
        "name": name,
        "url": server.url(),
        "environment": builder.scope.environment,
        "secret": SECRET,
    }
    await builder.execute(c.CreateWebhook, **{**definition, **properties})


async def webhook(builder: ContentBuilder, name: str = "search") -> Webhook:
    return (await builder.repository.webhooks(builder.scope.workspace)).by_name[name]


async def deliveries(
    builder: ContentBuilder, name: str = "search", **options: Any
) -> list[Delivery]:
    cursors = Cursors(builder.repository.recorder.fetch)
    return await cursors.deliveries(builder.scope.workspace, name, **options)


def entries_of(server: HookServer) -> list[tuple[str, int]]:
    """The slug and version of each entry in the received deliveries, in order."""
    found = (one.json["data"]["entry"] for one in server.received)
    return [(entry["slug"], entry["version"]) for entry in found]
