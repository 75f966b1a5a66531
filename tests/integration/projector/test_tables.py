"""The rows that result from each event, for every command."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.live_projector import connected, dump, project_all
from tests.integration.projector.sample_log import (
    ACTOR,
    BODY,
    LEAD,
    SCOPE,
    STAGES,
    ContentBuilder,
    raws,
    row_of,
    rows,
)
from tests.store_clock import Clock, follow_clock
from write_side import commands as c
from write_side.domain.entry_changes import actor_name
from write_side.domain.events import Plan, Translation

LOCALES = "SELECT locale, title, fields::text FROM entry_locale WHERE id = $1::uuid ORDER BY 1"


async def test_a_workspace_has_its_new_name(builder: ContentBuilder, database_url: str) -> None:
    await builder.workspace(entries=3)
    await builder.execute(c.RenameWorkspace, workspace="acme", name="Acme & Sons")
    await builder.execute(c.ChangePlan, workspace="acme", plan=Plan(staging=True, entries=5))
    await builder.staging()
    await project_all(database_url, database_url)
    assert await rows(database_url, "SELECT slug, name FROM workspace") == [("acme", "Acme & Sons")]


async def test_keys_are_not_in_the_read_model(builder: ContentBuilder, database_url: str) -> None:
    await builder.workspace()
    await builder.execute(
        c.IssueKey,
        workspace="acme",
        name="kept",
        permissions=("content.view",),
        secret_hash=hashlib.sha256(b"kept").hexdigest(),
    )
    await builder.execute(c.PermitKey, workspace="acme", name="kept", permissions=("content.edit",))
    await project_all(database_url, database_url)
    dumped = str(await dump(database_url))
    assert "kept" not in dumped
    assert hashlib.sha256(b"kept").hexdigest() not in dumped


async def test_the_media_library(builder: ContentBuilder, database_url: str) -> None:
    await builder.workspace()

    async def put(media_id: str, name: str) -> None:
        await builder.execute(
            c.PutMedia,
            workspace="acme",
            media_id=media_id,
            url=f"https://cdn/{name}",
            name=name,
            content_type="image/png",
        )

    await put("hero", "one")
    await put("hero", "two")
    await put("gone", "three")
    await builder.execute(c.RemoveMedia, workspace="acme", media_id="gone")
    await project_all(database_url, database_url)
    assert await rows(database_url, "SELECT * FROM media") == [
        ("acme", "hero", "https://cdn/two", "two", "image/png")
    ]


async def test_an_import_and_its_entries(builder: ContentBuilder, database_url: str) -> None:
    type_id = await builder.magazine()
    titles = [{"title": "One"}, {"title": "Two"}]
    await builder.imports(titles, import_id="i-1", file_name="posts.csv", skipped=4)
    await project_all(database_url, database_url)
    [run] = await rows(
        database_url,
        "SELECT id, content_type_id::text, file_name, created, updated, skipped FROM import_run",
    )
    assert run == ("i-1", type_id, "posts.csv", 2, 0, 4)
    assert await rows(database_url, "SELECT title FROM entry ORDER BY position") == [
        ("One",),
        ("Two",),
    ]
    await builder.execute(c.RevertImport, scope=SCOPE, import_id="i-1")
    await project_all(database_url, database_url)
    [run] = await rows(
        database_url,
        "SELECT created, imported_by, reverted_at >= imported_at FROM import_run",
    )
    assert run == (2, actor_name(ACTOR), True)
    assert await rows(database_url, "SELECT title FROM entry") == []


async def test_an_entry_with_all_its_columns(builder: ContentBuilder, database_url: str) -> None:
    await builder.workspace()
    type_id = await builder.content_type(BODY, LEAD, stages=STAGES)
    before = datetime.now(UTC)
    entry_id = await builder.entry("héllo", fields=raws(lead="L"), status="published")
    await builder.update(entry_id, stage_id="review")
    await project_all(database_url, database_url)
    async with connected(database_url) as connection:
        row = await row_of(connection, entry_id)
    assert row is not None
    times = {
        name: row.pop(name) for name in ("created_at", "updated_at", "published_at", "slug_since")
    }
    assert {name: str(value) for name, value in row.items()} == {
        "workspace": "acme",
        "environment": "production",
        "id": entry_id,
        "content_type_id": type_id,
        "slug": "héllo",
        "slug_hash": str(hashlib.sha256("héllo".encode()).digest()),
        "title": "Héllo",
        "status": "published",
        "language": "en-US",
        "stage_id": "review",
        "stage": '{"id":"review","name":"Review"}',
        "position": "3",
        "version": "2",
        "type_version": "1",
        "stored": '{"lead":"L"}',
        "translations": "None",
        "fields": '{"body":null,"lead":"L"}',
    }
    assert times["published_at"] == times["created_at"] <= times["updated_at"]
    assert times["slug_since"] == times["created_at"]
    assert abs((times["created_at"] - before).total_seconds()) < 10
    assert times["created_at"].microsecond % 1000 == 0


async def test_values_are_stored_once_if_they_are_rendered_as_they_are(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.workspace()
    await builder.content_type(LEAD, BODY)
    complete, partial = raws(lead="L", body="B"), raws(body="B")
    for slug, fields in (("complete", complete), ("partial", partial)):
        await builder.entry(slug, fields=fields)
    await project_all(database_url, database_url)
    values = "SELECT slug, stored, fields FROM entry ORDER BY slug"
    both = '{"lead":"L","body":"B"}'
    rendered = ("partial", '{"body":"B"}', '{"lead":null,"body":"B"}')
    assert await rows(database_url, values) == [("complete", None, both), rendered]
    await builder.revise_type(BODY, LEAD)
    await project_all(database_url, database_url)
    other = ("complete", both, '{"body":"B","lead":"L"}')
    rendered = ("partial", '{"body":"B"}', '{"body":"B","lead":null}')
    assert await rows(database_url, values) == [other, rendered]


async def test_a_deleted_entry_leaves_its_past_slug_and_version_behind(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await project_all(database_url, database_url)
    before = await dump(database_url)
    entry_id = await builder.entry("one", translations={"fr-FR": Translation("Un")})
    await project_all(database_url, database_url)
    await builder.delete(entry_id)
    await project_all(database_url, database_url)
    after = await dump(database_url)
    for table in ("past_slug", "past_version"):
        assert len(after.pop(table)) == 1
        assert before.pop(table) == []
    assert after.pop("change")[1:] != before.pop("change")[1:] == []
    assert after == before


PAST_SLUGS = """
SELECT id::text, position, content_type_id::text, language, slug_hash, since, until
FROM past_slug ORDER BY position"""


@pytest.mark.parametrize("limits", [[100], [1]])
async def test_released_slugs(
    limits: list[int], builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follow_clock(database_url)
    type_id = await builder.magazine()
    entry_id = await builder.entry("one", language="sv-SE")
    made, changes = Clock.time, ({"slug": "two"}, {"title": "Two"}, {"slug": "one"})
    for change in changes:
        Clock.time += timedelta(seconds=1)
        await builder.update(entry_id, **change)
    Clock.time += timedelta(seconds=1)
    await builder.delete(entry_id)
    await project_all(database_url, database_url, limits)
    first, second, third, fourth = (made + timedelta(seconds=n) for n in (0, 1, 3, 4))
    kept = (type_id, "sv-SE")
    one, two = (hashlib.sha256(slug.encode()).digest() for slug in ("one", "two"))
    assert await rows(database_url, PAST_SLUGS) == [
        (entry_id, 4, *kept, one, first, second),
        (entry_id, 6, *kept, two, second, third),
        (entry_id, 7, *kept, one, third, fourth),
    ]


PAST_VERSIONS = """
SELECT version, status, title, slug, stage_id, position, updated_at, until
FROM past_version WHERE id = $1::uuid ORDER BY until"""


@pytest.mark.parametrize("limits", [[100], [1]])
async def test_versions_that_ended(
    limits: list[int], builder: ContentBuilder, database_url: str
) -> None:
    """A version that began and ended at the same time has no row."""
    await follow_clock(database_url)
    await builder.workspace()
    await builder.content_type(stages=STAGES)
    made = Clock.time
    entry_id, long = await builder.entry("one"), "✓" * 334
    Clock.time += timedelta(seconds=1)
    await builder.update(entry_id, title="Two", status="published", stage_id="review")
    await builder.update(entry_id, title=long)
    Clock.time += timedelta(seconds=1)
    await builder.update(entry_id, title="Three", slug=long)
    Clock.time += timedelta(seconds=1)
    await builder.delete(entry_id)
    await project_all(database_url, database_url, limits)
    first, second, third, fourth = (made + timedelta(seconds=n) for n in range(4))
    assert await rows(database_url, PAST_VERSIONS, entry_id) == [
        (1, "draft", "One", "one", "writing", 3, first, second),
        (3, "published", None, "one", "review", 3, second, third),
        (4, "published", "Three", None, "review", 3, third, fourth),
    ]


async def test_a_type_that_was_removed(builder: ContentBuilder, database_url: str) -> None:
    gone = await builder.magazine()
    await builder.execute(c.RemoveContentType, scope=SCOPE, slug="posts")
    await builder.content_type()
    await project_all(database_url, database_url)
    assert await rows(
        database_url, "SELECT slug, id::text, position, since <= until FROM past_type"
    ) == [("posts", gone, 3, True)]


async def test_locale_rows_appear_and_vanish_with_translations(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    entry_id = await builder.entry("one", fields=raws(body="Hello"))
    other = await builder.entry("two")

    async def locales() -> list[tuple[Any, ...]]:
        await project_all(database_url, database_url)
        assert await rows(database_url, LOCALES, other) == []
        return await rows(database_url, LOCALES, entry_id)

    assert await locales() == []
    await builder.translate(entry_id, "fr-FR", title="Un")
    await builder.translate(entry_id, "de-DE", fields=raws(body="Hallo"))
    assert await locales() == [
        ("de-DE", "One", '{"body":"Hallo"}'),
        ("fr-FR", "Un", None),
    ]
    await builder.update(entry_id, title="Uno", fields=raws(body="Hola"))
    assert await locales() == [
        ("de-DE", "Uno", '{"body":"Hallo"}'),
        ("fr-FR", "Un", None),
    ]
    await builder.translate(entry_id, "fr-FR", title="")
    assert [row[0] for row in await locales()] == ["de-DE"]
    await builder.translate(entry_id, "de-DE", fields=raws(body=None))
    assert await locales() == []


async def test_slugs_swapped_between_two_entries_in_one_batch(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    one, two = await builder.entry("one"), await builder.entry("two")
    await project_all(database_url, database_url)
    for entry_id, slug in ((one, "aside"), (two, "one"), (one, "two")):
        await builder.update(entry_id, slug=slug)
    await project_all(database_url, database_url)
    found = dict(await rows(database_url, "SELECT slug, id::text FROM entry"))
    assert found == {"one": two, "two": one}


async def test_a_type_removed_with_its_entries_and_created_again_in_one_batch(
    builder: ContentBuilder, database_url: str
) -> None:
    first = await builder.magazine()
    entry_id = await builder.entry("one")
    await project_all(database_url, database_url)
    await builder.delete(entry_id)
    await builder.execute(c.RemoveContentType, scope=SCOPE, slug="posts")
    second = await builder.content_type(LEAD)
    again = await builder.entry("one", fields=raws(lead="L"))
    await project_all(database_url, database_url)
    assert first != second
    assert await rows(database_url, "SELECT id::text, version FROM content_type") == [(second, 1)]
    assert await rows(database_url, "SELECT id::text, fields::text FROM entry") == [
        (again, '{"lead":"L"}')
    ]
    counts = (
        "SELECT content_type_id::text, status, n FROM entry_count WHERE (filters, level) = (3, 0)"
    )
    assert await rows(database_url, counts) == [(second, "draft", 1)]


async def test_staging_is_isolated_from_production(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    staging = await builder.staging()
    await staging.content_type()
    await builder.entry("one")
    await staging.entry("one", translations={"fr-FR": Translation("Un")})
    await project_all(database_url, database_url)
    for table, n in (
        ("entry_production", 1),
        ("entry_staging", 1),
        ("entry_locale_staging_other", 1),
        ("entry_locale_production_other", 0),
    ):
        assert await rows(database_url, f"SELECT count(*) FROM {table}") == [(n,)]  # noqa: S608
