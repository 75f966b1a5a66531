"""The steps for webhook endpoints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from write_side.commands import (
    ChangeWebhook,
    CreateWebhook,
    RemoveWebhook,
    RotateWebhookSecret,
)
from write_side.domain.identity import STAGING
from write_side.domain.refusals import InvalidDefinition
from write_side.domain.webhook import (
    Webhook,
    check_destination,
    check_number,
    new_webhook_secret,
)
from write_side.manifest.document import ManifestWebhook
from write_side.manifest.source import Source
from write_side.manifest.steps import UNMENTIONED, DesiredState, Step
from write_side.store.webhook_cursors import Cursors


async def diff_webhooks(desired: DesiredState, types: Mapping[str, Collection[str]]) -> list[Step]:
    """Removals come first. Notes problems in the source. ``types``: the slugs of content types by
    environment."""
    workspace = desired.manifest.workspace
    there = (await desired.repository.webhooks(workspace)).by_name
    mentioned = {webhook.name for webhook in desired.manifest.webhooks}
    gone = desired.removed(there, mentioned)
    _check(desired, len((there.keys() | mentioned) - set(gone)))
    steps = [_removal(desired, name) for name in gone]
    for index, declared in enumerate(desired.manifest.webhooks):
        current = there.get(declared.name)
        _note_types(desired.source, index, declared.definition(current), types)
        steps.extend(await _steps(desired, declared, current))
    return steps


def _note_types(
    source: Source,
    index: int,
    definition: Mapping[str, Any],
    types: Mapping[str, Collection[str]],
) -> None:
    """Notes content types that do not exist: they may be created later."""
    environment = definition["environment"]
    known = types.get(environment, ())
    for number, slug in enumerate(definition["types"]):
        if slug not in known:
            text = (
                f"{environment} has no content type {slug!r}; "
                "its changes are delivered once it exists"
            )
            suggestion = source.suggestion(slug, known)
            path = ("webhooks", index, "types", number)
            source.add(path, text, is_note=True, suggestion=suggestion)


def _check(desired: DesiredState, count: int) -> None:
    with desired.source.at("webhooks"):
        check_number(count)
    for index, declared in enumerate(desired.manifest.webhooks):
        with desired.source.at("webhooks", index, "url"):
            check_destination(declared.url, desired.networks)
        with desired.source.at("webhooks", index, "environment"):
            if declared.environment == STAGING and STAGING not in desired.environments:
                raise InvalidDefinition("The workspace has no staging environment")


async def _steps(
    desired: DesiredState, declared: ManifestWebhook, there: Webhook | None
) -> list[Step]:
    if there is None:
        return [_creation(desired, declared)]
    steps = []
    definition = declared.definition(there)
    changed = [what for what, wanted in definition.items() if getattr(there, what) != wanted]
    if changed:
        change = ChangeWebhook(**desired.header, **definition)
        names = ", ".join(what.removesuffix("_entry") for what in changed)
        steps.append(Step(f"webhook {there.name}", f"changed: {names}", change, _off(there)))
    if declared.secret is not None and declared.secret != await _secret(desired, there):
        rotation = RotateWebhookSecret(**desired.header, name=there.name, secret=declared.secret)
        steps.append(Step(f"webhook {there.name}", "given its new secret", rotation))
    return steps


def _off(webhook: Webhook) -> str:
    if webhook.off is None:
        return ""
    enable = f"contentlog webhook enable {webhook.name} --workspace {webhook.workspace}"
    return f"webhook {webhook.name} is switched off: {enable}"


def _creation(desired: DesiredState, declared: ManifestWebhook) -> Step:
    secret = declared.secret or new_webhook_secret()
    creation = CreateWebhook(**desired.header, secret=secret, **declared.definition(None))
    generated = f"secret of webhook {declared.name}, shown only once: {secret}"
    result = "" if declared.secret else generated
    return Step(f"webhook {declared.name}", "created", creation, result)


def _removal(desired: DesiredState, name: str) -> Step:
    removal = RemoveWebhook(**desired.header, name=name)
    return Step(f"webhook {name}", f"removed: {UNMENTIONED}", removal)


async def _secret(desired: DesiredState, webhook: Webhook) -> str | None:
    """The newest one."""
    secrets = await Cursors(desired.repository.recorder.fetch).secrets(*webhook.key)
    return secrets[0] if secrets else None
