"""Applying a manifest: what it prints and appends. A second run changes nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from tests.store_clock import Clock, follow_clock
from write_side.commands import CreateEntry
from write_side.dispatch import execute
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import ContentTypeInUse
from write_side.domain.workspace import secret_hash
from write_side.manifest.diff import diff
from write_side.manifest.loader import read_manifest
from write_side.manifest.source import ManifestError
from write_side.manifest.steps import apply_steps
from write_side.repository import Repository

OPERATOR = Actor("operator", "ann")
PRODUCTION = Scope("acme", "production")
STAGING = Scope("acme", "staging")
SECRET = "a-secret-of-20-characters-or-more"
HEAD = "{workspace: acme, name: Acme"
STAGED = f"{HEAD}, plan: {{staging: true}}, environments: [production, staging]"
KEY = f"keys: [{{name: ci, permissions: [content.view], secret: {SECRET}}}]"
BIO = "{slug: bio, name: Bio, type: text}"
AGE = "{slug: age, name: Age, type: number}"
AUTHORS = f"{{slug: authors, name: Authors, fields: [{BIO}]}}"
POSTS = (
    "{slug: posts, name: Posts, fields: ["
    "{slug: author, name: Author, type: reference, to: [authors]},"
    "{slug: body, name: Body, type: text}]}"
)


async def diff_lines(repository: Repository, text: str, *, prune: bool = False) -> list[str]:
    manifest = read_manifest(text.encode(), "acme.yaml")
    return [step.done for step in await diff(manifest, repository, OPERATOR, prune=prune)]


async def apply(repository: Repository, text: str, *, prune: bool = False) -> list[str]:
    manifest = read_manifest(text.encode(), "acme.yaml")
    steps = await diff(manifest, repository, OPERATOR, prune=prune)
    done = [one async for one in apply_steps(steps, repository)]
    assert all(position > 0 for _, position in done)
    return [step.result or step.done for step, _ in done]


async def test_a_second_run_changes_nothing(repository: Repository) -> None:
    text = f"{STAGED}, {KEY}, contentTypes: [{POSTS}, {AUTHORS}], "
    text += "media: [{id: hero, url: 'https://x.example/h', name: h, contentType: image/png}]}"
    assert await apply(repository, text) == [
        "workspace acme created",
        "environment staging set up",
        "media hero added",
        "content type posts in production created",
        "content type authors in production created",
        "content type posts in staging created",
        "content type authors in staging created",
        "key ci issued",
    ]
    head = await repository.recorder.head()
    assert head == 8
    assert await apply(repository, text) == []
    assert await apply(repository, text, prune=True) == []
    assert await repository.recorder.head() == head


async def test_a_dry_run_prints_the_changes_and_appends_nothing(
    repository: Repository,
) -> None:
    text = f"{STAGED}, {KEY}, contentTypes: [{POSTS}, {AUTHORS}]}}"
    document = read_manifest(text.encode(), "acme.yaml")
    planned = [step.planned for step in await diff(document, repository, OPERATOR)]
    assert planned[:2] == [
        "workspace acme would be created",
        "environment staging would be set up",
    ]
    assert await repository.recorder.head() == 0
    done = await apply(repository, text)
    assert [line.replace("would be ", "") for line in planned] == done


async def test_every_problem_with_the_workspace_is_named_at_once(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, contentTypes: [{AUTHORS}]}}")
    with pytest.raises(ManifestError) as refusal:
        await diff_lines(
            repository,
            """
workspace: acme
name: Acme
environments: [staging]
keys: [{name: old, permissions: [content.view], expires: 2020-01-31}]
contentTypes:
  - {slug: authors, name: Authors, fields: [{slug: bio, name: Bio, type: number}]}
  - slug: posts
    name: Posts
    fields:
      - {slug: by, name: By, type: reference, to: [authors, auhtors]}
      - slug: notes
        name: Notes
        type: repeater
        fields: [{slug: about, name: About, type: reference, to: [topics]}]
""",
        )
    found = [(one.line, one.column, one.path, one.suggestion) for one in refusal.value.problems]
    assert found == [
        (4, 16, "environments[0]", None),
        (5, 58, "keys[0].expires", None),
        (7, 74, "contentTypes[0].fields[0].type", None),
        (11, 61, "contentTypes[1].fields[0].to[1]", "authors"),
        (15, 67, "contentTypes[1].fields[1].fields[0].to[0]", None),
    ]
    assert await repository.recorder.head() == 2


async def test_anything_not_mentioned_is_kept(repository: Repository) -> None:
    await apply(repository, f"{STAGED}, {KEY}, contentTypes: [{AUTHORS}]}}")
    assert await apply(repository, f"{HEAD}}}") == []
    assert (await repository.workspace("acme")).plan.staging is True


async def test_a_content_type_keeps_the_fields_and_workflow_that_are_not_mentioned(
    repository: Repository,
) -> None:
    workflow = "workflow: {stages: [{id: one, name: One}]}"
    whole = f"{{slug: authors, name: Authors, {workflow}, fields: [{BIO}, {AGE}]}}"
    await apply(repository, f"{HEAD}, contentTypes: [{whole}]}}")

    async def revised(keys: str, *, prune: bool = False) -> list[str]:
        text = f"{HEAD}, contentTypes: [{{slug: authors, {keys}}}]}}"
        lines = await diff_lines(repository, text, prune=prune)
        return [line.removeprefix("content type authors in production revised: ") for line in lines]

    assert await revised("name: Authors") == []
    assert await revised("name: Authors", prune=True) == []
    assert await revised("name: Writers") == ["renamed to 'Writers'"]
    assert await revised(f"name: Authors, fields: [{BIO}]") == ["field removed: age"]
    assert await revised("name: Authors, fields: []") == ["fields removed: bio, age"]
    assert await revised("name: Authors, workflow: {}") == []
    assert await revised("name: Authors, workflow: null") == ["stage removed: one"]
    assert await revised("name: Authors, workflow: {stages: []}") == ["stage removed: one"]
    await apply(repository, f"{HEAD}, contentTypes: [{{slug: authors, name: Writers}}]}}")
    (kept,) = await repository.content_types(PRODUCTION)
    assert [field.slug for field in kept.fields] == ["bio", "age"]
    assert [stage.id for stage in kept.stages] == ["one"]


async def test_a_type_to_which_a_kept_field_refers_is_not_pruned(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, contentTypes: [{POSTS}, {AUTHORS}]}}")
    kept = f"{HEAD}, contentTypes: [{{slug: posts, name: Posts}}]}}"
    with pytest.raises(
        ManifestError, match=r"1:46: contentTypes\[0\].fields\[0\].to\[0\]: production has no cont"
    ):
        await diff_lines(repository, kept, prune=True)
    assert await diff_lines(repository, kept) == []


async def test_prune_removes_anything_not_mentioned(repository: Repository) -> None:
    text = f"{STAGED}, {KEY}, contentTypes: [{AUTHORS}], "
    text += "media: [{id: hero, url: 'https://x.example/h', name: h, contentType: image/png}]}"
    await apply(repository, text)
    narrowed = AUTHORS.replace("fields:", "environments: [staging], fields:")
    lines = await apply(repository, f"{STAGED}, contentTypes: [{narrowed}]}}", prune=True)
    assert lines == [
        "content type authors in production removed: the manifest does not mention it",
        "media hero removed: the manifest does not mention it",
        "key ci revoked: the manifest does not mention it",
    ]
    assert await repository.content_types(PRODUCTION) == []
    assert [one.slug for one in await repository.content_types(STAGING)] == ["authors"]
    assert await repository.media("acme") == []
    assert await repository.keys("acme") == []


async def test_a_content_type_with_entries_is_not_pruned(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, contentTypes: [{AUTHORS}], {KEY}}}")
    created = CreateEntry(
        actor=OPERATOR, scope=PRODUCTION, content_type_slug="authors", title="Ada"
    )
    await execute(created, repository)
    head = await repository.recorder.head()
    with pytest.raises(ContentTypeInUse, match="'authors' still has entries"):
        await apply(repository, f"{HEAD}}}", prune=True)
    assert await repository.recorder.head() == head


async def test_a_secret_is_generated_and_shown_once(repository: Repository) -> None:
    text = f"{HEAD}, keys: [{{name: web, permissions: [content.view]}}]}}"
    (_, lines) = await apply(repository, text)
    found = re.fullmatch(r"secret of key web, shown only once: (cl_\S{43})", lines)
    assert found
    key = await repository.find_key("acme", "web")
    assert key is not None
    assert key.secret_hash == secret_hash(found[1])
    assert await apply(repository, text) == []


async def test_a_changed_secret_revokes_the_old_key(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, {KEY}}}")
    other = KEY.replace(SECRET, f"another-{SECRET}")
    assert await apply(repository, f"{HEAD}, {other}}}") == [
        "key ci revoked: its secret has changed",
        "key ci issued with its new secret",
    ]
    key = await repository.find_key("acme", "ci")
    assert key is not None
    assert key.secret_hash == secret_hash(f"another-{SECRET}")


async def test_changed_permissions_keep_the_key(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, {KEY}}}")
    before = await repository.find_key("acme", "ci")
    wider = KEY.replace("[content.view]", "[content.edit, content.view]")
    assert await apply(repository, f"{HEAD}, {wider}}}") == [
        "key ci permitted content.edit, content.view"
    ]
    after = await repository.find_key("acme", "ci")
    assert before is not None
    assert after is not None
    assert (after.id, after.secret_hash) == (before.id, before.secret_hash)


async def test_environment_and_expiry_of_a_key_follow_the_manifest(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, {KEY}}}")
    limited = KEY.replace("}]", ", environment: production, expires: 2100-01-31}]")
    assert await apply(repository, f"{HEAD}, {limited}}}") == [
        "key ci permitted content.view in production until 2100-01-31T00:00:00Z"
    ]
    assert await apply(repository, f"{HEAD}, {limited}}}") == []
    key = await repository.find_key("acme", "ci")
    assert key is not None
    assert (key.environment, key.expires_at) == ("production", datetime(2100, 1, 31, tzinfo=UTC))
    assert await apply(repository, f"{HEAD}, {KEY}}}") == []
    everywhere = KEY.replace("}]", ", environment: null}]")
    assert await apply(repository, f"{HEAD}, {everywhere}}}") == [
        "key ci permitted content.view until 2100-01-31T00:00:00Z"
    ]
    lasting = KEY.replace("}]", ", expires: null}]")
    assert await apply(repository, f"{HEAD}, {lasting}}}") == ["key ci permitted content.view"]


async def test_a_key_with_a_new_secret_keeps_its_environment_and_expiry(
    repository: Repository,
) -> None:
    limited = KEY.replace("}]", ", environment: production, expires: 2100-01-31}]")
    await apply(repository, f"{HEAD}, {limited}}}")
    await apply(repository, f"{HEAD}, {KEY.replace(SECRET, f'another-{SECRET}')}}}")
    key = await repository.find_key("acme", "ci")
    assert key is not None
    assert key.secret_hash == secret_hash(f"another-{SECRET}")
    assert (key.environment, key.expires_at) == ("production", datetime(2100, 1, 31, tzinfo=UTC))


async def test_a_key_that_has_expired_gets_no_new_secret(
    repository: Repository, database_url: str
) -> None:
    await follow_clock(database_url)
    Clock.time = datetime(2090, 1, 1, tzinfo=UTC)
    await apply(repository, f"{HEAD}, {KEY.replace('}]', ', expires: 2090-01-02}]')}}}")
    Clock.time = datetime(2090, 1, 3, tzinfo=UTC)
    assert await apply(repository, f"{HEAD}, {KEY}}}") == []
    other = KEY.replace(SECRET, f"another-{SECRET}")
    with pytest.raises(ManifestError, match=r"keys\[0\].expires: an expiry of 2090-01-02"):
        await diff_lines(repository, f"{HEAD}, {other}}}")


async def test_an_expiry_has_passed_by_the_clock_of_the_store(
    repository: Repository, database_url: str
) -> None:
    await follow_clock(database_url)
    Clock.time = datetime(2090, 1, 1, tzinfo=UTC)
    over = KEY.replace("}]", ", expires: 2089-12-31}]")
    with pytest.raises(
        ManifestError, match=r"keys\[0\].expires: an expiry of 2089-12-31T00:00:00Z is in the past"
    ):
        await apply(repository, f"{HEAD}, {over}}}")
    assert await repository.recorder.head() == 0
    ends = KEY.replace("}]", ", expires: 2090-01-02}]")
    assert await apply(repository, f"{HEAD}, {ends}}}") == [
        "workspace acme created",
        "key ci issued",
    ]


async def test_a_secret_of_another_workspace_is_refused_before_anything_is_done(
    repository: Repository,
) -> None:
    await apply(repository, f"{{workspace: other, name: Other, {KEY}}}")
    with pytest.raises(ManifestError, match=r"1:86: keys\[0\].secret: the key 'ci' cannot be"):
        await apply(repository, f"{HEAD}, {KEY}}}")
    assert await repository.find_workspace("acme") is None


async def test_revisions_are_printed_field_by_field(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, contentTypes: [{POSTS}, {AUTHORS}]}}")
    revised = (
        "{slug: posts, name: Stories, workflow: {stages: [{id: review, name: Review}]}, fields: ["
        "{slug: body, name: Text, type: text, required: true},"
        "{slug: cover, name: Cover, type: media}, {slug: views, name: Views, type: number}]}"
    )
    assert await apply(repository, f"{HEAD}, contentTypes: [{revised}]}}") == [
        "content type posts in production revised: renamed to 'Stories'; "
        "fields added: cover, views; field removed: author; field changed: body; "
        "stage added: review"
    ]
    turned = revised.replace("{slug: cover, name: Cover, type: media}, ", "").replace(
        "fields: [", "fields: [{slug: cover, name: Cover, type: media},"
    )
    assert await apply(repository, f"{HEAD}, contentTypes: [{turned}]}}") == [
        "content type posts in production revised: fields reordered"
    ]


async def test_a_field_never_changes_its_type(repository: Repository) -> None:
    await apply(repository, f"{HEAD}, contentTypes: [{AUTHORS}]}}")
    changed = AUTHORS.replace("type: text", "type: number")
    with pytest.raises(
        ManifestError,
        match=r"1:115: contentTypes\[0\].fields\[0\].type: field 'bio' is text permanently",
    ):
        await diff_lines(repository, f"{HEAD}, contentTypes: [{changed}]}}")


async def test_a_reference_names_a_type_of_its_environment(repository: Repository) -> None:
    with pytest.raises(
        ManifestError, match=r"1:133: contentTypes\[0\].fields\[0\].to\[0\]: production has no cont"
    ):
        await diff_lines(repository, f"{HEAD}, contentTypes: [{POSTS}]}}")
    await apply(repository, f"{HEAD}, contentTypes: [{AUTHORS}]}}")
    lines = await diff_lines(repository, f"{HEAD}, contentTypes: [{POSTS}]}}")
    assert lines == ["content type posts in production created"]
    with pytest.raises(ManifestError, match="no content type 'authors'"):
        await diff_lines(repository, f"{HEAD}, contentTypes: [{POSTS}]}}", prune=True)


async def test_the_plans_limit_is_met_before_anything_is_done(repository: Repository) -> None:
    text = f"{HEAD}, plan: {{contentTypes: 1}}, contentTypes: [{POSTS}, {AUTHORS}]}}"
    with pytest.raises(ManifestError, match=r"contentTypes: .*limit of 1 content type is"):
        await apply(repository, text)
    assert await repository.recorder.head() == 0


async def test_pruning_makes_room_under_the_plans_limit(repository: Repository) -> None:
    limited = f"{HEAD}, plan: {{contentTypes: 1}}"
    await apply(repository, f"{limited}, contentTypes: [{AUTHORS}]}}")
    topics = AUTHORS.replace("authors", "topics")
    lines = await apply(repository, f"{limited}, contentTypes: [{topics}]}}", prune=True)
    assert len(lines) == 2


async def test_staging_needs_the_plan(repository: Repository) -> None:
    with pytest.raises(ManifestError, match="staging needs"):
        await diff_lines(repository, f"{HEAD}, environments: [staging]}}")
    await apply(repository, f"{STAGED}}}")
    without = f"{HEAD}, plan: null, contentTypes: [{AUTHORS}]}}"
    assert await apply(repository, without) == [
        "plan changed to any number of entries, any number of content types, "
        "600 (default) requests per minute, staging: no",
        "content type authors in production created",
    ]


async def test_a_rate_limit_of_zero_is_shown_as_no_limit(repository: Repository) -> None:
    await apply(repository, f"{HEAD}}}")
    assert await apply(repository, f"{HEAD}, plan: {{requestsPerMinute: 0}}}}") == [
        "plan changed to any number of entries, any number of content types, "
        "any number of requests per minute, staging: no"
    ]


async def test_limits_of_one_are_singular(repository: Repository) -> None:
    await apply(repository, f"{HEAD}}}")
    ones = "plan: {entries: 1, contentTypes: 1, requestsPerMinute: 1}"
    assert await apply(repository, f"{HEAD}, {ones}}}") == [
        "plan changed to 1 entry, 1 content type, 1 request per minute, staging: no"
    ]


async def test_a_limit_that_the_plan_does_not_mention_is_kept(repository: Repository) -> None:
    whole = "plan: {entries: 5, contentTypes: 2, requestsPerMinute: 9, staging: true}"
    await apply(repository, f"{HEAD}, {whole}}}")
    lines = await apply(repository, f"{HEAD}, plan: {{entries: 6, requestsPerMinute: null}}}}")
    assert lines == [
        "plan changed to 6 entries, 2 content types, 600 (default) requests per minute, "
        "staging: yes"
    ]
    assert await diff_lines(repository, f"{HEAD}, plan: {{}}}}") == []
    assert await diff_lines(repository, f"{HEAD}, plan: {{staging: null}}}}") != []


async def test_a_workspace_is_renamed(repository: Repository) -> None:
    await apply(repository, f"{HEAD}}}")
    lines = await apply(repository, "{workspace: acme, name: Acme and Sons}")
    assert lines == ["workspace acme renamed to 'Acme and Sons'"]
