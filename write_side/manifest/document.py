"""The manifest document: the desired state of a workspace, in YAML or JSON.

These Structs are the only description of manifests: the checks and the JSON Schema follow from
them.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from write_side.domain.change_kinds import KINDS
from write_side.domain.definition import Field, Stage
from write_side.domain.events import Plan
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION
from write_side.domain.workspace import PERMISSIONS

Limit = Annotated[int, Meta(ge=0, lt=2**53)]
Permission = Annotated[str, Meta(extra_json_schema={"enum": PERMISSIONS})]
ChangeEvent = Annotated[str, Meta(extra_json_schema={"enum": KINDS})]
Included = Annotated[str, Meta(extra_json_schema={"enum": ("entry",)})]
Environment = Annotated[str, Meta(extra_json_schema={"enum": ENVIRONMENTS})]


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """An unknown key is an error."""


class ManifestPlan(_Part, frozen=True):
    """None means unlimited, or 600 for requests per minute (§8)."""

    entries: Limit | None = None
    content_types: Limit | None = None
    requests_per_minute: Limit | None = None
    staging: bool | None = None

    def plan(self) -> Plan:
        return Plan(
            entries=self.entries,
            content_types=self.content_types,
            requests_per_minute=self.requests_per_minute,
            staging=bool(self.staging),
        )


class ManifestKey(_Part, frozen=True):
    """Without ``secret``, a new key gets a generated one and an existing key keeps its own.

    Without ``environment`` it works in all of them; without ``expires`` it never expires.
    """

    name: str
    permissions: tuple[Permission, ...]
    secret: str | None = None
    environment: Environment | None = None
    expires: str | None = None


class ManifestMedia(_Part, frozen=True):
    id: str
    url: str
    name: str
    content_type: str


class ManifestWebhook(_Part, frozen=True):
    """Without ``types`` or ``events``, all changes of the environment are delivered.

    Without ``secret``, a new endpoint gets a generated one and an existing endpoint keeps its own.
    """

    name: str
    url: str
    environment: Environment = PRODUCTION
    types: tuple[str, ...] = ()
    events: tuple[ChangeEvent, ...] = ()
    include: Included | None = None
    secret: str | None = None


class ManifestWorkflow(_Part, frozen=True):
    stages: tuple[Stage, ...] = ()


class ManifestContentType(_Part, frozen=True):
    """``fields`` or ``workflow`` absent: unchanged; a new content type then has none.

    ``environments`` empty: every environment of the workspace.
    """

    slug: str
    name: str
    fields: tuple[Field, ...] | UnsetType = UNSET
    workflow: ManifestWorkflow | UnsetType | None = UNSET
    environments: tuple[Environment, ...] = ()

    def desired_fields(self, current: tuple[Field, ...] = ()) -> tuple[Field, ...]:
        return current if isinstance(self.fields, UnsetType) else self.fields

    def desired_stages(self, current: tuple[Stage, ...] = ()) -> tuple[Stage, ...]:
        if isinstance(self.workflow, UnsetType):
            return current
        return self.workflow.stages if self.workflow else ()

    def applies(self, environment: str) -> bool:
        return not self.environments or environment in self.environments


class Manifest(_Part, frozen=True):
    """``plan`` absent: unchanged; a new workspace then has no limits."""

    workspace: str
    name: str
    plan: ManifestPlan | UnsetType | None = UNSET
    environments: tuple[Environment, ...] = ()
    keys: tuple[ManifestKey, ...] = ()
    media: tuple[ManifestMedia, ...] = ()
    webhooks: tuple[ManifestWebhook, ...] = ()
    content_types: tuple[ManifestContentType, ...] = ()

    def desired_plan(self, current: Plan) -> Plan:
        if isinstance(self.plan, UnsetType):
            return current
        return self.plan.plan() if self.plan else Plan()


def json_schema() -> bytes:
    """JSON Schema 2020-12 of a manifest, for editors and other tools."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "contentlog manifest",
        **msgspec.json.schema(Manifest),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
