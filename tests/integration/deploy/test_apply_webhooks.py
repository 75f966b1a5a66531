"""Webhooks in a manifest."""

from __future__ import annotations

import ipaddress

import pytest

from tests.integration.deploy.test_apply import OPERATOR, apply, diff_lines
from write_side.commands import SwitchWebhookOff
from write_side.dispatch import execute
from write_side.domain.webhook import new_webhook_secret
from write_side.manifest.diff import diff
from write_side.manifest.loader import read_manifest
from write_side.manifest.snapshot import snapshot
from write_side.manifest.source import ManifestError
from write_side.repository import Repository
from write_side.store.webhook_cursors import Cursors

HEAD = "{workspace: acme, name: Acme, webhooks: ["
SEARCH = "{name: search, url: 'https://search.example.com/hook'"
SECRET, OTHER = new_webhook_secret(), new_webhook_secret()


async def secrets(repository: Repository) -> list[str]:
    return await Cursors(repository.recorder.fetch).secrets("acme", "search")


async def test_a_generated_secret_is_printed_once(repository: Repository) -> None:
    done = await apply(repository, f"{HEAD}{SEARCH}}}]}}")
    assert done[0] == "workspace acme created"
    printed = done[1].removeprefix("secret of webhook search, shown only once: ")
    assert [printed] == await secrets(repository)
    assert await apply(repository, f"{HEAD}{SEARCH}}}]}}") == []


async def test_a_given_secret_is_not_printed(repository: Repository) -> None:
    manifest = f"{HEAD}{SEARCH}, secret: {SECRET}}}]}}"
    assert await apply(repository, manifest) == ["workspace acme created", "webhook search created"]
    assert await apply(repository, manifest) == []
    rotated = f"{HEAD}{SEARCH}, secret: {OTHER}}}]}}"
    assert await apply(repository, rotated) == ["webhook search given its new secret"]
    assert await secrets(repository) == [OTHER, SECRET]
    assert await apply(repository, rotated) == []


async def test_the_diff_names_the_settings_that_changed(repository: Repository) -> None:
    await apply(repository, f"{HEAD}{SEARCH}}}]}}")
    changed = f"{HEAD}{SEARCH}, types: [posts], events: [entry.published], include: entry}}]}}"
    assert await diff_lines(repository, changed) == [
        "webhook search changed: types, events, include"
    ]
    await apply(repository, changed)
    assert await apply(repository, changed) == []
    manifest = await snapshot(repository, "acme")
    [webhook] = manifest.webhooks
    assert (webhook.types, webhook.include, webhook.secret) == (("posts",), "entry", None)


async def test_only_null_restores_a_default(repository: Repository) -> None:
    staging = "plan: {staging: true}, environments: [staging], webhooks: ["
    head = HEAD.replace("webhooks: [", staging)
    selected = "environment: staging, types: [posts], events: [entry.published], include: entry"
    await apply(repository, f"{head}{SEARCH}, {selected}}}]}}")
    assert await diff_lines(repository, f"{HEAD}{SEARCH}}}]}}") == []
    assert await diff_lines(repository, f"{HEAD}{SEARCH}, types: []}}]}}") == [
        "webhook search changed: types"
    ]
    for what in ("environment", "types", "events", "include"):
        assert await diff_lines(repository, f"{HEAD}{SEARCH}, {what}: null}}]}}") == [
            f"webhook search changed: {what}"
        ]


async def test_apply_says_that_a_changed_endpoint_is_switched_off(repository: Repository) -> None:
    await apply(repository, f"{HEAD}{SEARCH}}}]}}")
    off = SwitchWebhookOff(actor=OPERATOR, workspace="acme", name="search", reason="it is gone")
    await execute(off, repository)
    changed = f"{HEAD}{SEARCH}, types: [posts]}}]}}"
    assert await apply(repository, changed) == [
        "webhook search is switched off: contentlog webhook enable search --workspace acme"
    ]
    assert (await snapshot(repository, "acme")).webhooks[0].types == ("posts",)


async def test_only_prune_removes_an_endpoint(repository: Repository) -> None:
    await apply(repository, f"{HEAD}{SEARCH}}}]}}")
    assert await apply(repository, "{workspace: acme, name: Acme}") == []
    removed = "webhook search removed: the manifest does not mention it"
    assert await apply(repository, "{workspace: acme, name: Acme}", prune=True) == [removed]


def test_every_problem_is_named_with_its_place() -> None:
    text = """
workspace: acme
name: Acme
webhooks:
  - {name: a b, url: "https://a.example/"}
  - {name: search, url: "ftp://a.example/"}
  - {name: search, url: "https://a.example/", secret: whsec_short}
  - {name: other, url: "https://a.example/", events: [entry.read]}
  - {name: third, url: "https://a.example/", include: everything}
"""
    with pytest.raises(ManifestError) as refusal:
        read_manifest(text.encode(), "acme.yaml")
    found = [(one.line, one.path) for one in refusal.value.problems]
    assert found == [
        (5, "webhooks[0].name"),
        (6, "webhooks[1].url"),
        (7, "webhooks[2].name"),
        (7, "webhooks[2].secret"),
        (8, "webhooks[3].events[0]"),
        (9, "webhooks[4].include"),
    ]
    assert "short" not in str([one.message for one in refusal.value.problems][3]).replace(
        "shortened", ""
    )


async def test_an_address_that_is_not_public_is_refused_unless_it_is_named(
    repository: Repository,
) -> None:
    text = "{workspace: acme, name: Acme, webhooks: [{name: a, url: 'http://127.0.0.1:9/'}]}"
    with pytest.raises(ManifestError, match=r"webhooks\[0\].url.*CONTENTLOG_WEBHOOK_NETWORKS"):
        await diff_lines(repository, text)
    document = read_manifest(text.encode(), "acme.yaml")
    networks = (ipaddress.ip_network("127.0.0.0/8"),)
    assert await diff(document, repository, OPERATOR, networks=networks)


async def test_a_content_type_that_the_workspace_does_not_have_is_noted(
    repository: Repository,
) -> None:
    """Content types of the manifest and of the workspace are known, even if the webhook keeps its
    selection."""
    authors = "contentTypes: [{slug: authors, name: Authors}]"
    await apply(repository, f"{{workspace: acme, name: Acme, {authors}}}")
    text = f"{HEAD}{SEARCH}, types: [posts, pots, authors]}}], contentTypes: ["

    async def noted(text: str) -> list[str]:
        document = read_manifest(text.encode(), "acme.yaml")
        await diff(document, repository, OPERATOR)
        return [problem.text("acme.yaml") for problem in document.source.notes]

    warning = (
        "webhooks[0].types[1]: production has no content type 'pots'; "
        "its changes are delivered once it exists"
    )
    with_posts = f"{text}{{slug: posts, name: Posts}}]}}"
    [note] = await noted(with_posts)
    assert note == f"acme.yaml:1:112: {warning}; did you mean 'posts'?"
    await apply(repository, with_posts)
    [note] = await noted(f"{HEAD}{SEARCH}}}]}}")
    assert note == f"acme.yaml:1:42: {warning}; did you mean 'posts'?"


async def test_an_endpoint_of_staging_needs_staging(repository: Repository) -> None:
    with pytest.raises(ManifestError, match="no staging environment"):
        await diff_lines(repository, f"{HEAD}{SEARCH}, environment: staging}}]}}")
