"""The manifest: what a workspace shall be, as people write it down in YAML or JSON.

Reading one says whether it is well formed and consistent in itself; ``applying.py`` compares it
with what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from write_side.domain.definition import Field, Stage, check_definition, check_name
from write_side.domain.events import Plan
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION, STAGING, is_slug
from write_side.domain.refusals import Refused
from write_side.domain.workspace import check_permissions
from write_side.notation import NotationError, read_json, read_yaml

Limit = Annotated[int, Meta(ge=0, lt=2**53)]

MAX_BYTES = 2_000_000
SHORTEST_SECRET = 20


class ManifestError(Exception):
    """The manifest cannot be applied; the text is one line that says where and why."""


class _Written(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What people write: an unknown key is an error."""


class WrittenPlan(_Written, frozen=True):
    """None is unlimited, and 600 for requests per minute (§8)."""

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


class WrittenKey(_Written, frozen=True):
    """Without ``secret`` a new key gets one that is made, and an old one keeps its own."""

    name: str
    permissions: tuple[str, ...]
    secret: str | None = None


class WrittenMedia(_Written, frozen=True):
    id: str
    url: str
    name: str
    content_type: str


class WrittenWorkflow(_Written, frozen=True):
    stages: tuple[Stage, ...] = ()


class WrittenType(_Written, frozen=True):
    """``environments`` empty: every environment of the workspace."""

    slug: str
    name: str
    fields: tuple[Field, ...] = ()
    workflow: WrittenWorkflow | None = None
    environments: tuple[str, ...] = ()

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.workflow.stages if self.workflow else ()


class Manifest(_Written, frozen=True):
    """``plan`` absent: left as it is, which for a new workspace is without limits."""

    workspace: str
    name: str
    plan: WrittenPlan | UnsetType | None = UNSET
    environments: tuple[str, ...] = ()
    keys: tuple[WrittenKey, ...] = ()
    media: tuple[WrittenMedia, ...] = ()
    content_types: tuple[WrittenType, ...] = ()

    def wanted_plan(self, current: Plan) -> Plan:
        if isinstance(self.plan, UnsetType):
            return current
        return self.plan.plan() if self.plan else Plan()


def load_manifest(path: Path) -> Manifest:
    """The manifest in a file, JSON where the name ends so. Raises ManifestError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ManifestError(f"{path} is larger than {MAX_BYTES:,} bytes")
        document = path.read_bytes()
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
    return read_manifest(document, str(path), is_json=path.suffix.lower() == ".json")


def read_manifest(document: bytes, name: str, *, is_json: bool = False) -> Manifest:
    """The manifest of a document, which errors call ``name``. Raises ManifestError."""
    try:
        written = read_json(document) if is_json else read_yaml(document)
        manifest = msgspec.convert(written, Manifest)
        _check(manifest)
    except (NotationError, msgspec.ValidationError, Refused, ManifestError) as error:
        raise ManifestError(f"{name}: {error}") from None
    except RecursionError:
        raise ManifestError(f"{name}: nested too deep, or an alias is within itself") from None
    return manifest


def _check(manifest: Manifest) -> None:
    if not is_slug(manifest.workspace):
        raise ManifestError(
            f"workspace: {manifest.workspace!r} must be 1 to 63 of a-z, 0-9, '-' and '_', "
            "beginning with a letter or digit"
        )
    check_name(manifest.name, "name:")
    _check_environments(manifest.environments, "environments")
    _check_keys(manifest.keys)
    _check_once((file.id for file in manifest.media), "media", "id")
    _check_types(manifest)


def _check_environments(environments: Iterable[str], path: str) -> None:
    for environment in environments:
        if environment not in ENVIRONMENTS:
            raise ManifestError(
                f"{path}: there is no {environment!r}, only {' and '.join(ENVIRONMENTS)}"
            )


def _check_keys(keys: Iterable[WrittenKey]) -> None:
    _check_once((key.name for key in keys), "keys", "name")
    secrets = [key.secret for key in keys if key.secret is not None]
    if len(set(secrets)) < len(secrets):
        raise ManifestError("keys: two of them have the same secret")
    for key in keys:
        check_name(key.name, "keys: a name")
        check_permissions(key.permissions)
        check_secret(key.secret, f"keys: the secret of {key.name!r}")


def check_secret(secret: str | None, what: str) -> None:
    """Raise ManifestError where a secret is too short or cannot be sent in a header."""
    if secret is None:
        return
    if len(secret) < SHORTEST_SECRET:
        raise ManifestError(f"{what} must have at least {SHORTEST_SECRET} characters")
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ManifestError(f"{what} must be of printable ASCII characters without spaces")


def _check_types(manifest: Manifest) -> None:
    for environment in ENVIRONMENTS:
        here = (one for one in manifest.content_types if applies(one, environment))
        _check_once((one.slug for one in here), "contentTypes", "slug")
    listed = {PRODUCTION, *manifest.environments}
    for content_type in manifest.content_types:
        path = f"contentTypes.{content_type.slug}"
        _check_environments(content_type.environments, f"{path}.environments")
        if STAGING in content_type.environments and STAGING not in listed:
            raise ManifestError(f"{path}.environments: list staging under environments too")
        if not is_slug(content_type.slug):
            raise ManifestError(f"contentTypes: {content_type.slug!r} cannot be a slug")
        try:
            check_definition(content_type.name, content_type.fields, content_type.stages)
        except Refused as error:
            raise ManifestError(f"{path}: {error}") from None


def applies(content_type: WrittenType, environment: str) -> bool:
    return not content_type.environments or environment in content_type.environments


def targets(fields: Iterable[Field], within: str) -> Iterator[tuple[str, str]]:
    """(path of the field, content type) of every target that the fields name."""
    for field in fields:
        path = f"{within}.{field.slug}"
        yield from ((path, target) for target in field.to)
        yield from targets(field.fields, path)


def _check_once(values: Iterable[str], path: str, what: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ManifestError(f"{path}: the {what} {value!r} is there twice")
        seen.add(value)
