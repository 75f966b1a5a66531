"""The workspace and what belongs to it: plan, environments, API keys, media files."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from write_side.domain.events import (
    EnvironmentAdded,
    KeyEvent,
    KeyIssued,
    KeyPermissionsChanged,
    MediaEvent,
    MediaRemoved,
    Plan,
    PlanChanged,
    WorkspaceCreated,
    WorkspaceEvent,
    WorkspaceRenamed,
)
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION, STAGING, Scope
from write_side.domain.refusals import (
    EnvironmentNotSetUp,
    InvalidDefinition,
    StagingNotInPlan,
    shortened,
)
from write_side.domain.values import utc_of

SECRET_PREFIX = "cl_"  # noqa: S105 - the prefix of generated secrets
VIEW = "content.view"
VIEW_PUBLISHED = "content.published"
EDIT = "content.edit"
OPERATE = "service.view"
PERMISSIONS = (VIEW, VIEW_PUBLISHED, EDIT, OPERATE)
"""``content.published`` reads only published entries; it is for keys that visitors of a web page
can see. ``service.view`` is for operators: it shows the state of the whole service."""
EXPIRY = "an ISO 8601 date or time, such as 2027-01-31 or 2027-01-31T09:30:00Z"
_DURATION = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MEDIA_URL = re.compile(r"(https?|data):|[^:]*([/?#]|\Z)", re.IGNORECASE)
"""A URL without a scheme has no colon before its path, query or fragment."""


def new_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


def secret_hash(secret: str) -> str:
    """The hex sha256 of an API key's secret; nothing else of it is stored. Lone surrogates stand
    for invalid bytes of a header."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class Workspace(Struct, frozen=True, kw_only=True):
    slug: str
    name: str
    plan: Plan
    environments: tuple[str, ...]
    version: int


class Key(Struct, frozen=True, kw_only=True):
    """``environment`` None: all. ``expires_at`` None: never."""

    id: str
    workspace: str
    name: str
    permissions: tuple[str, ...]
    secret_hash: str
    environment: str | None
    expires_at: datetime | None
    issued_at: datetime
    version: int
    revoked: bool = False


class Media(Struct, frozen=True, kw_only=True):
    id: str
    workspace: str
    url: str
    name: str
    content_type: str
    version: int
    removed: bool = False


def evolve_workspace(workspace: Workspace | None, event: WorkspaceEvent) -> Workspace:
    if isinstance(event, WorkspaceCreated):
        return Workspace(
            slug=event.workspace,
            name=event.name,
            plan=event.plan,
            environments=(PRODUCTION,),
            version=1,
        )
    assert workspace is not None
    moved = replace(workspace, version=workspace.version + 1)
    if isinstance(event, WorkspaceRenamed):
        return replace(moved, name=event.name)
    if isinstance(event, PlanChanged):
        return replace(moved, plan=event.plan)
    assert isinstance(event, EnvironmentAdded)
    assert event.environment is not None
    return replace(moved, environments=(*workspace.environments, event.environment))


def evolve_key(key: Key | None, event: KeyEvent) -> Key:
    if isinstance(event, KeyIssued):
        return Key(
            id=event.key_id,
            workspace=event.workspace,
            name=event.name,
            permissions=event.permissions,
            secret_hash=event.secret_hash,
            environment=event.key_environment,
            expires_at=event.expires_at,
            issued_at=event.at,
            version=1,
        )
    assert key is not None
    moved = replace(key, version=key.version + 1)
    if isinstance(event, KeyPermissionsChanged):
        return replace(
            moved,
            permissions=event.permissions,
            environment=event.key_environment,
            expires_at=event.expires_at,
        )
    return replace(moved, revoked=True)


def evolve_media(media: Media | None, event: MediaEvent) -> Media:
    if isinstance(event, MediaRemoved):
        assert media is not None
        return replace(media, removed=True, version=media.version + 1)
    return Media(
        id=event.media_id,
        workspace=event.workspace,
        url=event.url,
        name=event.name,
        content_type=event.content_type,
        version=1 if media is None else media.version + 1,
    )


def check_environment_name(name: str) -> None:
    """Raises InvalidDefinition."""
    if name not in ENVIRONMENTS:
        raise InvalidDefinition(
            f"Unknown environment '{shortened(name)}': use {' or '.join(ENVIRONMENTS)}"
        )


def check_environment(plan: Plan, environments: Sequence[str], scope: Scope) -> None:
    """402 comes before 404, because a team can change its plan (behaviour.md, "Order of
    checks")."""
    if scope.environment == STAGING and not plan.staging:
        raise StagingNotInPlan
    if scope.environment not in environments:
        raise EnvironmentNotSetUp(scope.environment)


def check_key_environment(environment: str | None) -> None:
    """None means all. Raises InvalidDefinition."""
    if environment is not None:
        check_environment_name(environment)


def check_media_url(url: str) -> None:
    """Other schemes, such as ``javascript:``, could run scripts in pages that link to the file.
    Events from before this check may have them. Raises InvalidDefinition."""
    if not _MEDIA_URL.match(url):
        raise InvalidDefinition(
            f"The URL {shortened(url)!r} has an unsupported scheme; use http, https or data, "
            "or a path such as /files/a.png"
        )


def check_permissions(permissions: Sequence[str]) -> None:
    if not permissions:
        raise InvalidDefinition(f"A key needs a permission: {', '.join(PERMISSIONS)}")
    for permission in permissions:
        if permission not in PERMISSIONS:
            raise InvalidDefinition(
                f"Unknown permission {permission!r}; expected one of {', '.join(PERMISSIONS)}"
            )


def expiry(text: str) -> datetime:
    """The time in UTC, cut to milliseconds as in events. A date means its beginning, and a
    time without an offset is UTC. Raises InvalidDefinition."""
    time = utc_of(text)
    if time is None:
        raise InvalidDefinition(f"'{text[:100]}' is not a time: use {EXPIRY}")
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def check_expiry(expires_at: datetime | None, now: datetime) -> None:
    """``now``: by the event store's clock, which decides when keys expire. Raises InvalidDefinition
    for a time that is not in the future."""
    if expires_at is not None and expires_at <= now:
        raise InvalidDefinition(
            f"An expiry of {shown_time(expires_at)} is in the past: use a later one"
        )


def shown_time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def expiry_or_duration(text: str, now: datetime) -> datetime:
    """Like ``expiry``; a duration (``30m``, ``12h``, ``90d``, ``8w``) counts from now."""
    duration = _DURATION.fullmatch(text)
    if duration is None:
        try:
            return expiry(text)
        except InvalidDefinition as error:
            raise InvalidDefinition(f"{error}, or a duration such as 90d or 12h") from None
    try:
        end = now + timedelta(**{_UNITS[duration[2]]: int(duration[1])})
    except OverflowError:
        raise InvalidDefinition(f"'{text}' is too long; use {EXPIRY}") from None
    return end.replace(microsecond=end.microsecond // 1000 * 1000)
