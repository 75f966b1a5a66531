"""The manifest of a workspace's current state. Applying it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec
import yaml

from write_side.domain.content_type import ContentType
from write_side.domain.events import Plan
from write_side.domain.identity import Scope
from write_side.domain.webhook import Webhook
from write_side.manifest.document import (
    Manifest,
    ManifestContentType,
    ManifestKey,
    ManifestMedia,
    ManifestPlan,
    ManifestWebhook,
    ManifestWorkflow,
)
from write_side.repository import Repository


async def snapshot(repository: Repository, slug: str) -> Manifest:
    """Keys and webhooks are without their secrets. Raises UnknownWorkspace."""
    workspace = await repository.workspace(slug)
    scopes = [Scope(slug, environment) for environment in workspace.environments]
    types = {scope.environment: await repository.content_types(scope) for scope in scopes}
    plan = msgspec.convert(workspace.plan, ManifestPlan, from_attributes=True)
    media = await repository.media(slug)
    return Manifest(
        workspace=slug,
        name=workspace.name,
        plan=None if workspace.plan == Plan() else plan,
        environments=workspace.environments,
        keys=tuple(
            ManifestKey(
                name=key.name,
                permissions=key.permissions,
                environment=key.environment,
                expires=_time(key.expires_at),
            )
            for key in await repository.keys(slug)
        ),
        media=msgspec.convert(media, tuple[ManifestMedia, ...], from_attributes=True),
        webhooks=tuple(map(_webhook, (await repository.webhooks(slug)).by_name.values())),
        content_types=tuple(_content_types(types)),
    )


class _Dumper(yaml.SafeDumper):
    """Escapes line breaks, because PyYAML writes some of them in a form that it reads
    differently."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if text.splitlines() != [text] else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(manifest: Manifest) -> str:
    """The manifest in YAML, one line for each of its small parts."""
    return yaml.dump(
        msgspec.to_builtins(manifest),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


def json_text(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def _time(time: datetime | None) -> str | None:
    """With milliseconds, as stored."""
    return None if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _webhook(webhook: Webhook) -> ManifestWebhook:
    return ManifestWebhook(
        name=webhook.name,
        url=webhook.url,
        environment=webhook.environment,
        types=webhook.types or None,
        events=webhook.events or None,
        include="entry" if webhook.include_entry else None,
    )


def _content_types(types: dict[str, list[ContentType]]) -> Iterator[ManifestContentType]:
    """Each definition once, with its environments unless all have it."""
    found: dict[ManifestContentType, list[str]] = {}
    for environment, every in types.items():
        for one in every:
            found.setdefault(_content_type(one), []).append(environment)
    for definition, environments in found.items():
        narrowed = () if len(environments) == len(types) else tuple(environments)
        yield msgspec.structs.replace(definition, environments=narrowed)


def _content_type(content_type: ContentType) -> ManifestContentType:
    stages = content_type.stages
    return ManifestContentType(
        slug=content_type.slug,
        name=content_type.name,
        fields=content_type.fields,
        workflow=ManifestWorkflow(stages=stages) if stages else None,
    )
