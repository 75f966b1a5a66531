"""The steps from the current state of a workspace to the one its manifest describes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from write_side.commands import (
    AddEnvironment,
    ChangePlan,
    ChangeWebhook,
    CreateWebhook,
    CreateWorkspace,
    IssueKey,
    PermitKey,
    PutMedia,
    RemoveMedia,
    RemoveWebhook,
    RenameWorkspace,
    RevokeKey,
    RotateWebhookSecret,
)
from write_side.domain.events import Plan
from write_side.domain.identity import PRODUCTION, STAGING, Actor, Scope
from write_side.domain.refusals import InvalidDefinition, KeyTaken, count
from write_side.domain.webhook import (
    Network,
    Webhook,
    check_destination,
    check_number,
    new_webhook_secret,
)
from write_side.domain.workspace import Key, check_expiry, new_secret, secret_hash, shown_time
from write_side.manifest.content_type_diff import diff_content_types
from write_side.manifest.document import ManifestKey, ManifestWebhook
from write_side.manifest.loader import Document
from write_side.manifest.source import Source
from write_side.manifest.steps import REMOVED, UNMENTIONED, DesiredState, Step
from write_side.repository import Repository
from write_side.store.webhook_cursors import Cursors

_HOLDERS = """
SELECT name, workspace FROM write_side.key_claim WHERE secret_hash = $1 AND NOT revoked"""


async def diff(
    document: Document,
    repository: Repository,
    actor: Actor,
    *,
    prune: bool = False,
    networks: tuple[Network, ...] = (),
) -> list[Step]:
    """The plan: its steps in the order to apply them, none if the workspace is up to date.

    Everything is checked before the first step: raises ManifestError with every problem, or
    Refused. Removals come first, to make room under the plan's limits. ``networks``: where webhooks
    may be delivered although it is not public. The notes of the source are replaced by those that
    depend on the workspace.
    """
    manifest = document.manifest
    document.source.notes.clear()
    current = await repository.find_workspace(manifest.workspace)
    desired = DesiredState(manifest, document.source, repository, actor, prune, current, networks)
    types = await diff_content_types(desired)
    steps = [
        *types.removals,
        *_workspace(desired),
        *await _media(desired),
        *types.changes,
        *await _keys(desired),
        *await _webhooks(desired, types.after),
    ]
    document.source.raise_problems()
    return steps


def _workspace(desired: DesiredState) -> list[Step]:
    manifest, current = desired.manifest, desired.current
    slug, steps = manifest.workspace, []
    if current is None:
        created = CreateWorkspace(**desired.header, name=manifest.name, plan=desired.plan)
        steps.append(Step(f"workspace {slug}", "created", created))
    else:
        if current.name != manifest.name:
            renamed = RenameWorkspace(**desired.header, name=manifest.name)
            steps.append(Step(f"workspace {slug}", f"renamed to {manifest.name!r}", renamed))
        if current.plan != desired.plan:
            changed = ChangePlan(**desired.header, plan=desired.plan)
            steps.append(Step("plan", f"changed to {_described(desired.plan)}", changed))
    there = current.environments if current else (PRODUCTION,)
    if STAGING in manifest.environments and STAGING not in there:
        if not desired.plan.staging:
            path = ("environments", manifest.environments.index(STAGING))
            desired.source.add(path, "staging needs `staging: true` in the plan")
        added = AddEnvironment(actor=desired.actor, scope=Scope(slug, STAGING))
        steps.append(Step("environment staging", "set up", added))
    return steps


def _described(plan: Plan) -> str:
    entries = _limit(plan.entries, "entry", "entries")
    content_types = _limit(plan.content_types, "content type", "content types")
    requests = "600 (default) requests"
    if plan.requests_per_minute is not None:
        requests = _limit(plan.requests_per_minute or None, "request", "requests")
    staging = "yes" if plan.staging else "no"
    return f"{entries}, {content_types}, {requests} per minute, staging: {staging}"


def _limit(limit: int | None, one: str, many: str) -> str:
    return f"any number of {many}" if limit is None else count(limit, one, many)


async def _media(desired: DesiredState) -> list[Step]:
    declared = desired.manifest.media
    known = {file.id: file for file in await desired.repository.media(desired.manifest.workspace)}
    steps = [
        Step(f"media {media_id}", REMOVED, RemoveMedia(**desired.header, media_id=media_id))
        for media_id in desired.removed(known, (file.id for file in declared))
    ]
    for file in declared:
        there = known.get(file.id)
        wanted = (file.url, file.name, file.content_type)
        if there is None or wanted != (there.url, there.name, there.content_type):
            put = PutMedia(
                **desired.header,
                media_id=file.id,
                url=file.url,
                name=file.name,
                content_type=file.content_type,
            )
            steps.append(Step(f"media {file.id}", "changed" if there else "added", put))
    return steps


async def _keys(desired: DesiredState) -> list[Step]:
    manifest = desired.manifest
    live = {key.name: key for key in await desired.repository.keys(manifest.workspace)}
    steps = [
        _revoke(desired, name, f"revoked: {UNMENTIONED}")
        for name in desired.removed(live, (key.name for key in manifest.keys))
    ]
    for index, declared in enumerate(manifest.keys):
        there = live.get(declared.name)
        await _check_expiry(desired, index, declared, there)
        with desired.source.at("keys", index, "secret"):
            steps.extend(await _key(desired, declared, there))
    return steps


async def _check_expiry(
    desired: DesiredState, index: int, declared: ManifestKey, live: Key | None
) -> None:
    """A key that has expired since the last time may stay in the manifest."""
    expires_at = declared.desired_expiry(live)
    if live is None or expires_at != live.expires_at or _has_new_secret(declared, live):
        with desired.source.at("keys", index, "expires"):
            check_expiry(expires_at, await desired.repository.recorder.time())


async def _key(desired: DesiredState, declared: ManifestKey, live: Key | None) -> list[Step]:
    """Raises KeyTaken."""
    if live is None:
        return [await _issue(desired, declared, live, "issued")]
    if _has_new_secret(declared, live):
        issue = await _issue(desired, declared, live, "issued with its new secret")
        return [_revoke(desired, declared.name, "revoked: its secret has changed"), issue]
    permit = PermitKey(**desired.header, **declared.definition(live))
    is_same = (permit.environment, permit.expires_at) == (live.environment, live.expires_at)
    if is_same and set(permit.permissions) == set(live.permissions):
        return []
    return [Step(f"key {live.name}", f"permitted {_permitted(permit)}", permit)]


def _has_new_secret(declared: ManifestKey, live: Key) -> bool:
    return declared.secret is not None and secret_hash(declared.secret) != live.secret_hash


def _permitted(permit: PermitKey) -> str:
    where = f" in {permit.environment}" if permit.environment else ""
    until = f" until {shown_time(permit.expires_at)}" if permit.expires_at else ""
    return f"{', '.join(permit.permissions)}{where}{until}"


async def _issue(
    desired: DesiredState, declared: ManifestKey, live: Key | None, change: str
) -> Step:
    secret = declared.secret or new_secret()
    digest = secret_hash(secret)
    # Refuse a secret in use before a key is revoked for it.
    holders = await desired.repository.recorder.fetch(_HOLDERS, digest)
    own = (desired.manifest.workspace, declared.name)
    if any((row["workspace"], row["name"]) != own for row in holders):
        raise KeyTaken(declared.name)
    issue = IssueKey(**desired.header, **declared.definition(live), secret_hash=digest)
    subject = f"key {declared.name}"
    if declared.secret:
        return Step(subject, change, issue)
    return Step.with_secret(subject, change, issue, secret, "revoke the key, and apply again")


def _revoke(desired: DesiredState, name: str, change: str) -> Step:
    return Step(f"key {name}", change, RevokeKey(**desired.header, name=name))


async def _webhooks(desired: DesiredState, types: Mapping[str, Collection[str]]) -> list[Step]:
    """Removals come first. Notes problems in the source. ``types``: the slugs of content types by
    environment."""
    workspace = desired.manifest.workspace
    there = (await desired.repository.webhooks(workspace)).by_name
    mentioned = {webhook.name for webhook in desired.manifest.webhooks}
    gone = desired.removed(there, mentioned)
    _check_webhooks(desired, len((there.keys() | mentioned) - set(gone)))
    steps = [
        Step(f"webhook {name}", REMOVED, RemoveWebhook(**desired.header, name=name))
        for name in gone
    ]
    for index, declared in enumerate(desired.manifest.webhooks):
        current = there.get(declared.name)
        _note_types(desired.source, index, declared.definition(current), types)
        steps.extend(await _webhook(desired, declared, current))
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


def _check_webhooks(desired: DesiredState, count: int) -> None:
    with desired.source.at("webhooks"):
        check_number(count)
    for index, declared in enumerate(desired.manifest.webhooks):
        with desired.source.at("webhooks", index, "url"):
            check_destination(declared.url, desired.networks)
        with desired.source.at("webhooks", index, "environment"):
            if declared.environment == STAGING and STAGING not in desired.environments:
                raise InvalidDefinition("The workspace has no staging environment")


async def _webhook(
    desired: DesiredState, declared: ManifestWebhook, there: Webhook | None
) -> list[Step]:
    if there is None:
        return [_create_webhook(desired, declared)]
    steps = []
    definition = declared.definition(there)
    changed = [what for what, wanted in definition.items() if getattr(there, what) != wanted]
    if changed:
        change = ChangeWebhook(**desired.header, **definition)
        names = ", ".join(what.removesuffix("_entry") for what in changed)
        steps.append(Step(f"webhook {there.name}", f"changed: {names}", change, _off(there)))
    secrets = await Cursors(desired.repository.recorder.fetch).secrets(*there.key)
    if declared.secret is not None and declared.secret not in secrets[:1]:
        rotation = RotateWebhookSecret(**desired.header, name=there.name, secret=declared.secret)
        steps.append(Step(f"webhook {there.name}", "given its new secret", rotation))
    return steps


def _off(webhook: Webhook) -> str:
    if webhook.off is None:
        return ""
    enable = f"contentlog webhook enable {webhook.name} --workspace {webhook.workspace}"
    return f"webhook {webhook.name} is switched off: {enable}"


def _create_webhook(desired: DesiredState, declared: ManifestWebhook) -> Step:
    secret = declared.secret or new_webhook_secret()
    creation = CreateWebhook(**desired.header, secret=secret, **declared.definition(None))
    subject = f"webhook {declared.name}"
    if declared.secret:
        return Step(subject, "created", creation)
    return Step.with_secret(
        subject, "created", creation, secret, "run `contentlog webhook rotate`, and apply again"
    )
