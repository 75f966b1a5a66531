"""Webhook endpoints. Their secrets change in the transaction that appends the events, beside the
log."""

from __future__ import annotations

from typing import Any

from write_side.commands import (
    ChangeWebhook,
    CreateWebhook,
    DefineWebhook,
    RemoveWebhook,
    RotateWebhookSecret,
    SwitchWebhookOff,
    SwitchWebhookOn,
)
from write_side.decision import Decision, header
from write_side.domain.definition import check_slug
from write_side.domain.events import (
    Event,
    WebhookChanged,
    WebhookCreated,
    WebhookRemoved,
    WebhookSecretRotated,
    WebhookSwitchedOff,
    WebhookSwitchedOn,
)
from write_side.domain.identity import webhook_stream
from write_side.domain.refusals import UnknownWebhook, WebhookTaken
from write_side.domain.text import check_text
from write_side.domain.webhook import (
    Webhook,
    Webhooks,
    check_number,
    check_selection,
    check_url,
    secret_bytes,
)
from write_side.domain.workspace import check_environment_name
from write_side.repository import Repository
from write_side.store.mapper import StreamEvent

OVERLAP = "24 hours"
"""How long a secret signs after its rotation. Three sign at most: the second rotation within this
time keeps both secrets before it, the third ends the oldest."""
_DEFINED = ("url", "environment", "types", "events", "include_entry")


async def create_webhook(command: CreateWebhook, repository: Repository) -> Decision:
    _check(command)
    secret_bytes(command.secret)
    await repository.workspace(command.workspace)
    webhooks = await repository.webhooks(command.workspace)
    if command.name in webhooks.by_name:
        raise WebhookTaken(command.name)
    check_number(len(webhooks.by_name) + 1)
    created = WebhookCreated(**header(command), **_definition(command))
    return _decision(webhooks, created, _secret(command, "put", secret=command.secret))


async def change_webhook(command: ChangeWebhook, repository: Repository) -> Decision:
    _check(command)
    webhooks, webhook = await _find(repository, command.workspace, command.name)
    if all(getattr(webhook, what) == getattr(command, what) for what in _DEFINED):
        return Decision()
    changed = WebhookChanged(**header(command), **_definition(command))
    return _decision(webhooks, changed)


async def remove_webhook(command: RemoveWebhook, repository: Repository) -> Decision:
    """Its secrets are deleted."""
    webhooks, webhook = await _find(repository, command.workspace, command.name)
    removed = WebhookRemoved(**header(command), name=webhook.name)
    return _decision(webhooks, removed, _secret(command, "erase"))


async def switch_webhook_off(command: SwitchWebhookOff, repository: Repository) -> Decision:
    check_text(command.reason, "The reason")
    webhooks, webhook = await _find(repository, command.workspace, command.name)
    if webhook.off is not None or command.changed_at not in (None, webhook.changed_at):
        return Decision()
    switched = WebhookSwitchedOff(**header(command), name=webhook.name, reason=command.reason)
    return _decision(webhooks, switched)


async def switch_webhook_on(command: SwitchWebhookOn, repository: Repository) -> Decision:
    """Changes nothing if the endpoint is on."""
    webhooks, webhook = await _find(repository, command.workspace, command.name)
    if webhook.off is None:
        return Decision()
    switched = WebhookSwitchedOn(**header(command), name=webhook.name)
    return _decision(webhooks, switched)


async def rotate_webhook_secret(command: RotateWebhookSecret, repository: Repository) -> Decision:
    secret_bytes(command.secret)
    webhooks, webhook = await _find(repository, command.workspace, command.name)
    rotated = WebhookSecretRotated(**header(command), name=webhook.name)
    overlap = "0" if command.expires else OVERLAP
    change = _secret(command, "rotate", secret=command.secret, overlap=overlap)
    return _decision(webhooks, rotated, change)


def _check(command: DefineWebhook) -> None:
    check_slug(command.name, "The name")
    check_url(command.url)
    check_environment_name(command.environment)
    check_selection(command.types, command.events)


def _definition(command: DefineWebhook) -> dict[str, Any]:
    return {
        "name": command.name,
        "url": command.url,
        "webhook_environment": command.environment,
        "types": command.types,
        "events": command.events,
        "include_entry": command.include_entry,
    }


async def _find(repository: Repository, workspace: str, name: str) -> tuple[Webhooks, Webhook]:
    webhooks = await repository.webhooks(workspace)
    if name not in webhooks.by_name:
        raise UnknownWebhook(name)
    return webhooks, webhooks.by_name[name]


def _secret(command: Any, op: str, **details: str) -> dict[str, Any]:
    change = {"op": op, "workspace": command.workspace, "name": command.name, **details}
    return {"webhook_secrets": [change]}


def _decision(webhooks: Webhooks, event: Event, changes: dict[str, Any] | None = None) -> Decision:
    stream = webhook_stream(event.workspace)
    return Decision(events=[StreamEvent(stream, webhooks.version + 1, event)], changes=changes)
