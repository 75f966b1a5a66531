"""Workspaces, keys and media files, folded from their event streams; plans and permissions."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from msgspec.structs import astuple

from tests.unit.samples import LATER, LATEST, NOON, event_of, workspace_created
from write_side.domain.events import (
    EnvironmentAdded,
    KeyIssued,
    KeyPermissionsChanged,
    KeyRevoked,
    MediaAdded,
    MediaChanged,
    MediaRemoved,
    Plan,
    PlanChanged,
    WorkspaceRenamed,
)
from write_side.domain.identity import Scope
from write_side.domain.refusals import EnvironmentNotSetUp, InvalidDefinition, StagingNotInPlan
from write_side.domain.workspace import (
    check_environment,
    check_key_environment,
    check_media_url,
    check_permissions,
    evolve_key,
    evolve_media,
    evolve_workspace,
    secret_hash,
)

PRODUCTION, STAGING = Scope("acme", "production"), Scope("acme", "staging")


def test_a_workspace_begins_with_production() -> None:
    workspace = evolve_workspace(None, workspace_created(plan=Plan(entries=5)))
    assert (workspace.slug, workspace.name) == ("acme", "Acme")
    assert workspace.environments == ("production",)
    assert workspace.plan == Plan(entries=5)
    assert workspace.version == 1


def test_a_workspace_is_renamed_and_gets_a_new_plan_and_staging() -> None:
    workspace = evolve_workspace(None, workspace_created())
    workspace = evolve_workspace(
        workspace, WorkspaceRenamed(**event_of(environment=None), name="A")
    )
    workspace = evolve_workspace(
        workspace, PlanChanged(**event_of(environment=None, at=LATER), plan=Plan(staging=True))
    )
    workspace = evolve_workspace(
        workspace, EnvironmentAdded(**event_of(environment="staging", at=LATEST))
    )
    assert (workspace.name, workspace.plan.staging) == ("A", True)
    assert workspace.environments == ("production", "staging")
    assert workspace.version == 4


def test_a_plan_is_unlimited_and_without_staging_by_default() -> None:
    assert Plan() == Plan(entries=None, content_types=None, requests_per_minute=None, staging=False)


ISSUED = KeyIssued(
    **event_of(environment=None),
    key_id="k",
    name="website",
    permissions=("content.view",),
    secret_hash="ab",
)


def test_a_key_changes_permissions_and_is_revoked_permanently() -> None:
    key = evolve_key(None, ISSUED)
    assert astuple(key) == (
        *("k", "acme", "website", ("content.view",), "ab", None, None, NOON),
        *(1, False),
    )
    edit = KeyPermissionsChanged(
        **event_of(environment=None, at=LATER),
        key_id="k",
        permissions=("content.edit",),
        key_environment="staging",
        expires_at=LATEST,
    )
    key = evolve_key(key, edit)
    assert (key.permissions, key.revoked, key.version) == (("content.edit",), False, 2)
    assert (key.environment, key.expires_at) == ("staging", LATEST)
    key = evolve_key(key, KeyRevoked(**event_of(environment=None, at=LATEST), key_id="k"))
    assert (key.revoked, key.issued_at, key.version) == (True, NOON, 3)


def media_event(
    kind: type[MediaAdded | MediaChanged], **properties: Any
) -> MediaAdded | MediaChanged:
    file = {"media_id": "hero", "url": "https://example.com/a.png", "content_type": "image/png"}
    return kind(**event_of(environment=None, **file, **properties))


def test_a_media_file_is_changed_removed_and_added_again() -> None:
    media = evolve_media(None, media_event(MediaAdded, name="a.png"))
    assert astuple(media) == (
        *("hero", "acme", "https://example.com/a.png", "a.png", "image/png"),
        *(1, False),
    )
    media = evolve_media(media, media_event(MediaChanged, at=LATER, name="b.png"))
    assert (media.name, media.version) == ("b.png", 2)
    media = evolve_media(media, MediaRemoved(**event_of(at=LATEST), media_id="hero"))
    assert (media.name, media.version, media.removed) == ("b.png", 3, True)
    media = evolve_media(media, media_event(MediaAdded, at=LATEST, name="c.png"))
    assert (media.name, media.version, media.removed) == ("c.png", 4, False)


def test_production_needs_nothing() -> None:
    check_environment(Plan(), ["production"], PRODUCTION)


def test_staging_is_checked_in_the_plan_and_then_for_set_up() -> None:
    both = ["production", "staging"]
    for environments in (["production"], both):
        with pytest.raises(StagingNotInPlan, match="not included in your team's plan"):
            check_environment(Plan(), environments, STAGING)
    with pytest.raises(EnvironmentNotSetUp, match="This team has no staging environment yet"):
        check_environment(Plan(staging=True), ["production"], STAGING)
    check_environment(Plan(staging=True), both, STAGING)


@pytest.mark.parametrize(
    "permissions",
    [("content.view",), ("content.edit",), ("service.view",), ("content.view", "content.edit")],
)
def test_a_key_may_have_any_of_the_permissions(permissions: tuple[str, ...]) -> None:
    check_permissions(permissions)


@pytest.mark.parametrize(
    ("why", "permissions"),
    [
        ("A key needs a permission: content.view, content.published, content.edit,", ()),
        (
            "Unknown permission 'content.delete'; expected one of content.view, content.published,",
            ("content.delete",),
        ),
        ("Unknown permission ''", ("content.view", "")),
    ],
)
def test_other_permissions_are_refused_by_name(why: str, permissions: tuple[str, ...]) -> None:
    with pytest.raises(InvalidDefinition, match=why):
        check_permissions(permissions)


def test_a_key_is_of_a_known_environment_or_of_all() -> None:
    check_key_environment(None)
    check_key_environment("staging")
    with pytest.raises(InvalidDefinition, match="Unknown environment 'qa': use production or"):
        check_key_environment("qa")


def test_a_secret_of_a_header_with_invalid_bytes_has_a_hash() -> None:
    assert secret_hash("s") == hashlib.sha256(b"s").hexdigest()
    assert secret_hash("\udcff") == hashlib.sha256(b"\xff").hexdigest()


@pytest.mark.parametrize(
    "url",
    [
        "https://cdn.example.com/a.png",
        "HTTP://cdn.example.com/a:b",
        "data:image/svg+xml,%3Csvg/%3E",
        "//cdn.example.com:8443/a.png",
        "/files/a:b.png",
        "a.png?at=12:30",
    ],
)
def test_a_media_file_has_a_web_address_or_a_path(url: str) -> None:
    check_media_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)//https://cdn.example.com",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
        "vbscript:x",
        "file:///etc/passwd",
    ],
)
def test_a_media_file_has_no_other_scheme(url: str) -> None:
    with pytest.raises(InvalidDefinition, match="has an unsupported scheme; use http, https or da"):
        check_media_url(url)
