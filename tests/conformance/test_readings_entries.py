"""Our readings: entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.cases import Case, create, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    TIME,
    UUID7,
    all_fields,
    entries_of,
    entry,
    every_entry,
    field_slugs,
    fields,
    slugs,
)
from tests.conformance.isolated_workspace import IsolatedWorkspace, OpenWorkspace
from tests.conformance.magazine import FAQ, NOTES, NOTHING, POSTS, SAVED
from tests.integration.api.server import Answer
from tests.integration.projector.sample_log import STAGES, raws
from write_side.domain.definition import Field, Stage

pytestmark = pytest.mark.asyncio(loop_scope="package")

READS = {
    "the list of a type": "/v1/content/posts?offset=1&",
    "a single entry": "/v1/content/posts/harbour?",
    "the list across types": "/v1/content?offset=3&limit=1&",
    "the list across types, of one": "/v1/content?type=posts&offset=3&",
}
"""Reads whose first entry is «harbour»."""
LOCALES = (
    "en-US",
    "de-CH",
    "zh-CN",
    "zh-TW",
    "sr-RS",
    "pt-BR",
    "fil-PH",
    "uz-UZ",
    "yue-HK",
)
NO_LOCALES = (
    "en",
    "EN-us",
    "en_US",
    "en-us",
    "zh-Hans-CN",
    "xx-XX",
    "en-",
    "-US",
    "en-USA",
    "es-419",
    "*",
)
WRITING, REVIEW = ({"id": stage.id, "name": stage.name} for stage in STAGES)


def is_uuid7(answer: Answer) -> None:
    assert all(UUID7.fullmatch(shown["id"]) for shown in entries_of(answer))


def has_times(answer: Answer) -> None:
    for shown in entries_of(answer):
        for name in ("publishedAt", "createdAt", "updatedAt"):
            assert shown[name] is None or TIME.fullmatch(shown[name])


def in_each_locale() -> Iterator[Case]:
    for what, target in READS.items():
        yield Case(
            f"entries.9, entries.11, entries.12, entries.13 texts are translated in {what}",
            get(f"{target}locale=fr-FR"),
            200,
            entry(title="Le port", slug="harbour"),
            fields(body="La marée est basse.", lead=SAVED["lead"], views=SAVED["views"]),
            fields(faq=[{**FAQ[0], "q": "Pourquoi ?"}, FAQ[1]]),
            lambda answer: written_in(answer, "en-US"),
        )
        yield Case(
            f"4.0.13, entries.11, entries.12 absent texts and other shapes fall back in {what}",
            get(f"{target}locale=de-DE"),
            200,
            entry(title="Harbour"),
            fields(body=SAVED["body"], lead="Niedrigwasser", faq=FAQ),
        )
        yield Case(
            f"entries.11 null falls back in {what}",
            get(f"{target}locale=es-ES"),
            200,
            entry(title="El puerto"),
            fields(body="La marea está baja.", lead=SAVED["lead"]),
        )
        yield Case(
            f"entries.10 locale repeats the code where all texts fell back in {what}",
            get(f"{target}locale=sv-SE"),
            200,
            entry(locale="sv-SE", title="Harbour"),
            all_fields(SAVED),
        )


def written_in(answer: Answer, language: str) -> None:
    """Checks the language of every entry that shows it; the list across types does not."""
    for shown in entries_of(answer):
        assert shown.get("language", language) == language


@table(
    Case("entries.1 ids are UUIDv7 in a list", get("/v1/content/notes"), 200, is_uuid7),
    Case("entries.1 the id of a created entry is one", create("An id"), 200, is_uuid7),
    Case("entries.2 timestamps in a list", get("/v1/content?limit=100"), 200, has_times),
    Case("entries.2 timestamps of one", get("/v1/content/posts/harbour"), 200, has_times),
    Case(
        "entries.3 the later in the log first, within a millisecond",
        get("/v1/content/notes?limit=100"),
        200,
        slugs(*(f"note-{number}" for number in range(NOTES - 1, NOTES - 101, -1))),
    ),
    Case(
        "entries.3 across types too",
        get("/v1/content?type=notes&limit=100"),
        200,
        slugs(*(f"note-{number}" for number in range(NOTES - 1, NOTES - 101, -1))),
    ),
    Case(
        "entries.5 full shape in the list of a type",
        get("/v1/content/posts?status=draft"),
        200,
        all_fields(NOTHING),
    ),
    Case(
        "entries.5 full shape in the list across types",
        get("/v1/content?type=posts"),
        200,
        field_slugs(NOTHING),
    ),
    Case(
        "entries.5 full shape in the answer to a create", create("Shape"), 200, all_fields(NOTHING)
    ),
    Case(
        "entries.7 null without a workflow",
        get("/v1/content/notes"),
        200,
        every_entry("stage", None),
    ),
    *in_each_locale(),
    *(
        Case(
            f"entries.14 {code} is supported",
            get(f"/v1/content/posts?locale={code}"),
            200,
            every_entry("locale", code),
        )
        for code in LOCALES
    ),
    *(
        Case(f"entries.14 {code} is not", get(f"/v1/content/posts?locale={code}"), 400)
        for code in NO_LOCALES
    ),
)
async def test_entries(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@pytest.mark.parametrize("limit", [7, 100])
@pytest.mark.parametrize(
    "target",
    [
        "/v1/content/notes?",
        "/v1/content/notes?locale=fr-FR&",
        "/v1/content?type=notes&",
        "/v1/content?type=notes&locale=fr-FR&",
    ],
)
async def test_entries_4_pages_never_repeat_or_skip_an_entry(
    limit: int, target: str, client: CheckedClient
) -> None:
    targets = [f"{target}limit={limit}&offset={n}" for n in range(0, NOTES, limit)]
    pages = [(await client.send(get(page))).data for page in targets]
    seen = [shown["slug"] for page in pages for shown in page]
    assert seen == [f"note-{number}" for number in range(NOTES - 1, -1, -1)]


async def test_entries_6_a_changed_type_is_visible_at_once_in_all_its_entries(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    await workspace.create("Old", fields={"lead": "L", "views": 1})
    extra = Field("extra", "Extra", "repeater", fields=(Field("q", "Q", "text"),))
    await workspace.builder.revise_type(extra, Field("views", "Views", "number"))
    await workspace.create("New", fields={"views": 2, "lead": "gone"})
    for target in ("/v1/content/posts?status=draft", "/v1/content"):
        new, old = await workspace.read(target)
        assert list(new["fields"].items()) == [("extra", []), ("views", 2)]
        assert list(old["fields"].items()) == [("extra", []), ("views", 1)]
    await workspace.builder.revise_type(Field("lead", "Lead", "text"))
    assert (await workspace.read("/v1/content/posts/old"))["fields"] == {"lead": "L"}


async def test_entries_6_a_renamed_type_shows_in_old_entries(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    await workspace.create("Old", type_slug="authors")
    await workspace.builder.revise_type(
        Field("bio", "Bio", "text"), slug="authors"
    )  # renamed to «Posts»
    assert (await workspace.read("/v1/content/authors/old"))["contentType"]["name"] == "Posts"


async def drafted(workspace: IsolatedWorkspace) -> str:
    """Creates an entry that can be published and returns its id."""
    created = await workspace.create("One", fields={"body": "B"})
    return str(created.data["id"])


async def read_post(workspace: IsolatedWorkspace) -> dict[str, Any]:
    return dict(await workspace.read("/v1/content/posts/one"))


async def test_entries_7_new_entries_start_in_the_first_stage(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    await drafted(workspace)
    assert (await read_post(workspace))["stage"] == WRITING


async def test_entries_7_entries_keep_their_stage_when_another_is_inserted_before_it(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    await drafted(workspace)
    await workspace.builder.revise_type(*POSTS, stages=(Stage("idea", "Idea"), *STAGES))
    assert (await read_post(workspace))["stage"] == WRITING


async def test_entries_8_the_stage_is_restored_after_the_archive(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    await workspace.builder.update(entry_id, stage_id="review")
    assert (await read_post(workspace))["stage"] == REVIEW
    await workspace.builder.update(entry_id, status="archived")
    assert (await read_post(workspace))["stage"] is None
    await workspace.builder.update(entry_id, status="draft")
    assert (await read_post(workspace))["stage"] == REVIEW


async def test_entries_9_language_never_changes(client: CheckedClient) -> None:
    answer = await client.send(get("/v1/content/posts/harbour?language=fr-FR&locale=fr-FR"))
    assert (answer.data["language"], answer.data["locale"]) == ("fr-FR", "fr-FR")
    assert answer.data["fields"]["body"] == "La mer."


async def test_entries_15_a_new_locale_needs_no_set_up(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    await workspace.builder.translate(entry_id, "cy-GB", title="Un", fields=raws(body="Môr"))
    shown = await workspace.read("/v1/content/posts/one?locale=cy-GB")
    assert (shown["title"], shown["fields"]["body"], shown["locale"]) == ("Un", "Môr", "cy-GB")


async def test_entries_11_a_removed_translation_falls_back(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    await workspace.builder.translate(entry_id, "fr-FR", title="Un", fields=raws(body="La mer"))
    await workspace.builder.translate(entry_id, "fr-FR", title="", fields=raws(body=None))
    shown = await workspace.read("/v1/content/posts/one?locale=fr-FR")
    assert (shown["title"], shown["fields"]["body"]) == ("One", "B")


async def test_entries_16_publishing_sets_published_at(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    assert (await read_post(workspace))["publishedAt"] is None
    await workspace.builder.update(entry_id, status="published")
    shown = await read_post(workspace)
    assert TIME.fullmatch(shown["publishedAt"])
    assert shown["publishedAt"] == shown["updatedAt"]
    await workspace.builder.update(entry_id, title="Changed while published")
    assert (await read_post(workspace))["publishedAt"] == shown["publishedAt"]


async def test_entries_16_publishing_from_the_archive_sets_it_the_first_time(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    await workspace.builder.update(entry_id, status="archived")
    assert (await read_post(workspace))["publishedAt"] is None
    await workspace.builder.update(entry_id, status="published")
    shown = await read_post(workspace)
    assert shown["publishedAt"] == shown["updatedAt"]


async def test_entries_17_republishing_a_draft_sets_it_again(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    await workspace.builder.update(entry_id, status="published")
    first = (await read_post(workspace))["publishedAt"]
    await workspace.builder.update(entry_id, status="draft")
    assert (await read_post(workspace))["publishedAt"] == first
    await workspace.builder.update(entry_id, status="published")
    shown = await read_post(workspace)
    assert shown["publishedAt"] == shown["updatedAt"] > first


async def test_entries_18_archiving_keeps_it(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    entry_id = await drafted(workspace)
    await workspace.builder.update(entry_id, status="published")
    first = (await read_post(workspace))["publishedAt"]
    await workspace.builder.update(entry_id, status="archived")
    assert (await read_post(workspace))["publishedAt"] == first
    await workspace.builder.update(entry_id, status="published")
    assert (await read_post(workspace))["publishedAt"] == first
