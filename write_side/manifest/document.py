"""The manifest document: the desired state of a workspace, in YAML or JSON.

Reading one checks that it is well formed and consistent in itself; ``diff.py`` compares it with the
workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import UNSET, Meta, Struct, UnsetType

from write_side.domain.api_key import expiry
from write_side.domain.definition import Field, Stage, check_definition, check_name, check_slug
from write_side.domain.events import Plan
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION, STAGING
from write_side.domain.refusals import Refused
from write_side.domain.workspace import check_environment_name, check_permissions

Limit = Annotated[int, Meta(ge=0, lt=2**53)]

MAX_BYTES = 2_000_000
SHORTEST_SECRET = 20


class ManifestError(Exception):
    """The manifest cannot be applied; the text is one line with the place and the reason."""


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An unknown key is an error."""


class ManifestPlan(_Part, frozen=True):
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


class ManifestKey(_Part, frozen=True):
    """Without ``secret``, a new key gets a generated one and an existing key keeps its own.

    Without ``environment`` it works in all of them; without ``expires`` for ever.
    """

    name: str
    permissions: tuple[str, ...]
    secret: str | None = None
    environment: str | None = None
    expires: str | None = None


class ManifestMedia(_Part, frozen=True):
    id: str
    url: str
    name: str
    content_type: str


class ManifestWorkflow(_Part, frozen=True):
    stages: tuple[Stage, ...] = ()


class ManifestContentType(_Part, frozen=True):
    """``environments`` empty: every environment of the workspace."""

    slug: str
    name: str
    fields: tuple[Field, ...] = ()
    workflow: ManifestWorkflow | None = None
    environments: tuple[str, ...] = ()

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.workflow.stages if self.workflow else ()


class Manifest(_Part, frozen=True):
    """``plan`` absent: unchanged; a new workspace then has no limits."""

    workspace: str
    name: str
    plan: ManifestPlan | UnsetType | None = UNSET
    environments: tuple[str, ...] = ()
    keys: tuple[ManifestKey, ...] = ()
    media: tuple[ManifestMedia, ...] = ()
    content_types: tuple[ManifestContentType, ...] = ()

    def desired_plan(self, current: Plan) -> Plan:
        if isinstance(self.plan, UnsetType):
            return current
        return self.plan.plan() if self.plan else Plan()


def load_manifest(path: Path) -> Manifest:
    """The manifest in a file: JSON if its name ends in .json, else YAML. Raises ManifestError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ManifestError(f"{path} is larger than {MAX_BYTES:,} bytes")
        document = path.read_bytes()
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
    return read_manifest(document, str(path), is_json=path.suffix.lower() == ".json")


def read_manifest(document: bytes, name: str, *, is_json: bool = False) -> Manifest:
    """The manifest in a document; ``name`` is for its errors. Raises ManifestError."""
    try:
        values = _read_json(document) if is_json else _read_yaml(document)
        manifest = msgspec.convert(values, Manifest)
        _check(manifest)
    except (msgspec.ValidationError, Refused, ManifestError) as error:
        raise ManifestError(f"{name}: {error}") from None
    except RecursionError:
        raise ManifestError(f"{name}: nested too deeply, or an alias contains itself") from None
    return manifest


class _Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice in a mapping, which YAML allows."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise ManifestError(f"{_place(key.start_mark)}: {key.value!r} occurs twice")
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return node


def _timestamp(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    """A date without quotes is text too: it is read where a manifest has dates."""
    return loader.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)


def _read_yaml(document: bytes) -> Any:
    try:
        return yaml.load(document, _Loader)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        raise ManifestError(f"{_place(error.problem_mark)}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError(f"not YAML: {' '.join(str(error).split())}") from None


def _read_json(document: bytes) -> Any:
    try:
        return msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ManifestError(f"not JSON: {error}") from None


def _place(mark: yaml.Mark | None) -> str:
    return "not YAML" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _check(manifest: Manifest) -> None:
    check_slug(manifest.workspace, "workspace:")
    check_name(manifest.name, "name:")
    _check_environments(manifest.environments, "environments")
    _check_keys(manifest.keys)
    _check_unique((file.id for file in manifest.media), "media", "id")
    for file in manifest.media:
        check_slug(file.id, "media: the id")
    _check_types(manifest)


def _check_environments(environments: Iterable[str], path: str) -> None:
    for environment in environments:
        try:
            check_environment_name(environment)
        except Refused as error:
            raise ManifestError(f"{path}: {error}") from None


def _check_keys(keys: Iterable[ManifestKey]) -> None:
    _check_unique((key.name for key in keys), "keys", "name")
    secrets = [key.secret for key in keys if key.secret is not None]
    if len(set(secrets)) < len(secrets):
        raise ManifestError("keys: two of them have the same secret")
    for key in keys:
        check_name(key.name, "keys: a name")
        check_permissions(key.permissions)
        if key.environment is not None:
            _check_environments([key.environment], f"keys: the environment of {key.name!r}")
        if key.expires is not None:
            _check_expiry(key.expires, f"keys: the expiry of {key.name!r}")
        check_secret(key.secret, f"keys: the secret of {key.name!r}")


def _check_expiry(expires: str, what: str) -> None:
    """A duration would end later with every time that the manifest is applied."""
    try:
        expiry(expires)
    except Refused as error:
        raise ManifestError(f"{what}: {error}") from None


def check_secret(secret: str | None, what: str) -> None:
    """Raise ManifestError if a secret is too short or cannot be sent in a header."""
    if secret is None:
        return
    if len(secret) < SHORTEST_SECRET:
        raise ManifestError(f"{what} must have at least {SHORTEST_SECRET} characters")
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ManifestError(f"{what} must be of printable ASCII characters without spaces")


def _check_types(manifest: Manifest) -> None:
    for environment in ENVIRONMENTS:
        here = (one for one in manifest.content_types if applies(one, environment))
        _check_unique((one.slug for one in here), "contentTypes", "slug")
    listed = {PRODUCTION, *manifest.environments}
    for content_type in manifest.content_types:
        path = f"contentTypes.{content_type.slug}"
        _check_environments(content_type.environments, f"{path}.environments")
        if STAGING in content_type.environments and STAGING not in listed:
            raise ManifestError(f"{path}.environments: list staging under environments too")
        check_slug(content_type.slug, "contentTypes: the slug")
        try:
            check_definition(content_type.name, content_type.fields, content_type.stages)
        except Refused as error:
            raise ManifestError(f"{path}: {error}") from None


def applies(content_type: ManifestContentType, environment: str) -> bool:
    return not content_type.environments or environment in content_type.environments


def targets(fields: Iterable[Field], within: str) -> Iterator[tuple[str, str]]:
    """(path of the field, content type) of each target of the fields."""
    for field in fields:
        path = f"{within}.{field.slug}"
        yield from ((path, target) for target in field.to)
        yield from targets(field.fields, path)


def _check_unique(values: Iterable[str], path: str, what: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ManifestError(f"{path}: the {what} {value!r} occurs twice")
        seen.add(value)
