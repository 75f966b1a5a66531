"""The manifest of an existing workspace; applying it changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.deploy.test_apply import OPERATOR, SECRET, apply
from tests.store_clock import Clock, follow_clock
from write_side.commands import ChangePlan, IssueKey
from write_side.dispatch import execute
from write_side.domain.events import Plan
from write_side.domain.refusals import UnknownWorkspace
from write_side.domain.workspace import secret_hash
from write_side.manifest.diff import diff
from write_side.manifest.loader import read_manifest
from write_side.manifest.snapshot import json_text, snapshot, yaml_text
from write_side.repository import Repository

PLAIN = "{workspace: acme, name: Acme}"
WHOLE = f"""
workspace: acme
name: 'No: "1"'
plan: {{entries: 0, contentTypes: 20, requestsPerMinute: 700, staging: true}}
environments: [staging]
keys:
  - {{name: ci, permissions: [content.edit, content.view], secret: {SECRET}}}
  - {{name: web, permissions: [content.published], environment: staging, expires: 2100-01-31}}
media:
  - {{id: hero, url: "https://x.example/h", name: "2027-01-31", contentType: image/png}}
contentTypes:
  - slug: everywhere
    name: दिन
    workflow: {{stages: [{{id: "1", name: "yes"}}, {{id: review, name: "  Review"}}]}}
    fields:
      - {{slug: intro, name: Intro, type: section}}
      - {{slug: body, name: Body, type: rich_text, required: true}}
      - {{slug: when, name: When, type: datetime, range: true}}
      - {{slug: of, name: Of, type: reference, to: [here], multiple: true}}
      - {{slug: kind, name: Kind, type: select, options: [{{value: "0x1", label: "null"}}]}}
      - {{slug: faq, name: FAQ, type: repeater, fields: [{{slug: q, name: Q, type: text}}]}}
  - {{slug: here, name: Here, environments: [production]}}
  - {{slug: here, name: There, environments: [staging]}}
  - {{slug: there, name: There, environments: [staging]}}
"""


async def check_round_trip(repository: Repository) -> str:
    """The snapshot can be read back, and its diff is empty, with --prune too."""
    manifest = await snapshot(repository, "acme")
    texts = [(yaml_text(manifest).encode(), False), (json_text(manifest), True)]
    for text, is_json in texts:
        document = read_manifest(text, "shown", is_json=is_json)
        assert document.manifest == manifest
        assert await diff(document, repository, OPERATOR, prune=True) == []
    return texts[0][0].decode()


@pytest.mark.parametrize("text", [PLAIN, WHOLE], ids=["plain", "whole"])
async def test_applying_the_shown_manifest_changes_nothing(
    repository: Repository, text: str
) -> None:
    await apply(repository, text)
    shown = await check_round_trip(repository)
    assert SECRET not in shown
    assert secret_hash(SECRET) not in shown


async def test_the_shown_manifest_creates_the_same_workspace_elsewhere(
    repository: Repository,
) -> None:
    await apply(repository, WHOLE)
    shown = yaml_text(await snapshot(repository, "acme"))
    copied = shown.replace("workspace: acme", "workspace: copy")
    assert any(
        "secret of key ci, shown only once" in line for line in await apply(repository, copied)
    )
    assert yaml_text(await snapshot(repository, "copy")) == copied


async def test_the_shown_manifest_removes_fields_and_stages_added_since(
    repository: Repository,
) -> None:
    bare = "{workspace: acme, name: Acme, contentTypes: [{slug: a, name: A}]}"
    await apply(repository, bare)
    shown = yaml_text(await snapshot(repository, "acme"))
    more = "workflow: {stages: [{id: one, name: One}]}, fields: [{slug: t, name: T, type: text}]"
    await apply(repository, bare.replace("name: A}", f"name: A, {more}}}"))
    assert await apply(repository, shown) == [
        "content type a in production revised: field removed: t; stage removed: one"
    ]
    assert yaml_text(await snapshot(repository, "acme")) == shown


async def test_the_shown_manifest_removes_limits_added_since(repository: Repository) -> None:
    bare = """{workspace: acme, name: Acme, plan: {entries: 5},
        keys: [{name: web, permissions: [content.view]}],
        webhooks: [{name: search, url: "https://search.example.com/"}]}"""
    await apply(repository, bare)
    shown = yaml_text(await snapshot(repository, "acme"))
    more = bare.replace("entries: 5", "entries: 5, contentTypes: 2, requestsPerMinute: 9")
    more = more.replace("view]", "view], environment: production, expires: 2100-01-31")
    more = more.replace('com/"', 'com/", types: [posts], events: [entry.created], include: entry')
    assert len(await apply(repository, more)) == 3
    assert len(await apply(repository, shown)) == 3
    assert yaml_text(await snapshot(repository, "acme")) == shown


async def test_staging_is_listed_even_if_the_plan_lost_it(repository: Repository) -> None:
    await apply(repository, WHOLE)
    await execute(ChangePlan(actor=OPERATOR, workspace="acme", plan=Plan()), repository)
    assert "environments: [staging]" in await check_round_trip(repository)


async def test_keys_that_expire_within_a_second_or_have_expired_are_shown(
    repository: Repository, database_url: str
) -> None:
    await follow_clock(database_url)
    await apply(repository, PLAIN)
    issue = IssueKey(
        actor=OPERATOR,
        workspace="acme",
        name="soon",
        permissions=("content.view",),
        secret_hash="0" * 64,
        environment=None,
        expires_at=Clock.time + timedelta(milliseconds=900),
    )
    await execute(issue, repository)
    for _ in range(2):
        assert "expires:" in await check_round_trip(repository)
        Clock.time += timedelta(seconds=1)


async def test_an_unknown_workspace_is_refused(repository: Repository) -> None:
    with pytest.raises(UnknownWorkspace):
        await snapshot(repository, "nobody")
