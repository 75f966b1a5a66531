"""The manifest document: the desired state of a workspace, in YAML or JSON.

These Structs are the only description of manifests: the checks and the JSON Schema follow from
them. What is absent (UNSET) keeps its current value, and null restores the default.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from write_side.domain.definition import Field, Name, NotBlank, Slug, Stage
from write_side.domain.events import CHANGE_KINDS, Plan
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION
from write_side.domain.webhook import LONGEST_URL, MOST_WEBHOOKS, Webhook
from write_side.domain.workspace import PERMISSIONS, Key, expiry

T = TypeVar("T")
D = TypeVar("D")

SHORTEST_SECRET = 20
"""The fewest characters that the secret of a key may have."""

Limit = Annotated[int, Meta(ge=0, lt=2**53)]
Permission = Annotated[str, Meta(extra_json_schema={"enum": PERMISSIONS})]
ChangeEvent = Annotated[str, Meta(extra_json_schema={"enum": CHANGE_KINDS})]
Included = Annotated[str, Meta(extra_json_schema={"enum": ("entry",)})]
Environment = Annotated[str, Meta(extra_json_schema={"enum": ENVIRONMENTS})]
Secret = Annotated[str, Meta(extra_json_schema={"minLength": SHORTEST_SECRET})]
WebhookUrl = Annotated[str, Meta(extra_json_schema={"maxLength": LONGEST_URL})]


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """An unknown key is an error."""


def _desired(value: T | UnsetType | None, current: T | D, default: D) -> T | D:
    if isinstance(value, UnsetType):
        return current
    return default if value is None else value


class ManifestPlan(_Part, frozen=True):
    """None means unlimited, or 600 for requests per minute (§8)."""

    entries: Limit | UnsetType | None = UNSET
    content_types: Limit | UnsetType | None = UNSET
    requests_per_minute: Limit | UnsetType | None = UNSET
    staging: bool | UnsetType | None = UNSET

    def desired(self, current: Plan) -> Plan:
        defaults = msgspec.structs.asdict(Plan())
        return Plan(
            **{
                name: _desired(getattr(self, name), getattr(current, name), default)
                for name, default in defaults.items()
            }
        )


class ManifestKey(_Part, frozen=True):
    """Without ``secret``, a new key gets a generated one and an existing key keeps its own.

    ``environment`` None: it works in all of them. ``expires`` None: never.
    """

    name: Name
    permissions: Annotated[tuple[Permission, ...], Meta(extra_json_schema={"minItems": 1})]
    secret: Secret | None = None
    environment: Environment | UnsetType | None = UNSET
    expires: str | UnsetType | None = UNSET

    def desired_expiry(self, current: Key | None) -> datetime | None:
        """Raises InvalidDefinition."""
        expires = expiry(self.expires) if isinstance(self.expires, str) else self.expires
        return _desired(expires, current.expires_at if current else None, None)

    def definition(self, current: Key | None) -> dict[str, Any]:
        """The arguments of the command that brings the key to its desired state. Raises
        InvalidDefinition."""
        environment = current.environment if current else None
        return {
            "name": self.name,
            "permissions": self.permissions,
            "environment": _desired(self.environment, environment, None),
            "expires_at": self.desired_expiry(current),
        }


class ManifestMedia(_Part, frozen=True):
    id: Slug
    url: NotBlank
    name: NotBlank
    content_type: NotBlank


class ManifestWebhook(_Part, frozen=True):
    """``types`` or ``events`` empty: all changes of the environment are delivered.

    Without ``secret``, a new endpoint gets a generated one and an existing endpoint keeps its own.
    """

    name: Slug
    url: WebhookUrl
    environment: Environment | UnsetType | None = UNSET
    types: tuple[Slug, ...] | UnsetType | None = UNSET
    events: tuple[ChangeEvent, ...] | UnsetType | None = UNSET
    include: Included | UnsetType | None = UNSET
    secret: str | None = None

    def definition(self, current: Webhook | None) -> dict[str, Any]:
        """The arguments of the command that brings the endpoint to its desired state."""
        included = "entry" if current and current.include_entry else None
        return {
            "name": self.name,
            "url": self.url,
            "environment": _desired(
                self.environment, current.environment if current else PRODUCTION, PRODUCTION
            ),
            "types": _desired(self.types, current.types if current else (), ()),
            "events": _desired(self.events, current.events if current else (), ()),
            "include_entry": _desired(self.include, included, None) == "entry",
        }


class ManifestWorkflow(_Part, frozen=True):
    stages: tuple[Stage, ...] | UnsetType | None = UNSET


class ManifestContentType(_Part, frozen=True):
    """``environments`` says where this definition applies; empty: in every environment of the
    workspace."""

    slug: Slug
    name: Name
    fields: tuple[Field, ...] | UnsetType = UNSET
    workflow: ManifestWorkflow | UnsetType | None = UNSET
    environments: tuple[Environment, ...] = ()

    def desired_fields(self, current: tuple[Field, ...] = ()) -> tuple[Field, ...]:
        return _desired(self.fields, current, ())

    def desired_stages(self, current: tuple[Stage, ...] = ()) -> tuple[Stage, ...]:
        if isinstance(self.workflow, UnsetType):
            return current
        return _desired(self.workflow.stages, current, ()) if self.workflow else ()

    def applies(self, environment: str) -> bool:
        return not self.environments or environment in self.environments


class Manifest(_Part, frozen=True):
    workspace: Slug
    name: Name
    plan: ManifestPlan | UnsetType | None = UNSET
    environments: tuple[Environment, ...] = ()
    keys: tuple[ManifestKey, ...] = ()
    media: tuple[ManifestMedia, ...] = ()
    webhooks: Annotated[
        tuple[ManifestWebhook, ...], Meta(extra_json_schema={"maxItems": MOST_WEBHOOKS})
    ] = ()
    content_types: tuple[ManifestContentType, ...] = ()

    def desired_plan(self, current: Plan) -> Plan:
        if isinstance(self.plan, UnsetType):
            return current
        return self.plan.desired(current) if self.plan else Plan()


def json_schema() -> bytes:
    """JSON Schema 2020-12 of a manifest, for editors and other tools."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "contentlog manifest",
        **msgspec.json.schema(Manifest),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
