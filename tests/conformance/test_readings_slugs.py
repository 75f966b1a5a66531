"""Our readings: slugs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.cases import Case, create, get, post, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import CLOSED, entry, error, says
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import DESK
from tests.conformance.windows import statuses

pytestmark = pytest.mark.asyncio(loop_scope="package")

KEPT = {
    "Latin letters of any accent": ("Äpfel Über Çà", "äpfel-über-çà"),
    "Greek": ("Καλημέρα", "καλημέρα"),
    "Cyrillic": ("Привет мир", "привет-мир"),
    "Chinese": ("你好 世界", "你好-世界"),
    "digits of ASCII": ("Year 2026", "year-2026"),
    "digits of Arabic": ("عام ٢٠٢٦", "عام-٢٠٢٦"),
    "marks belong to the letter before them": ("दिन दान", "दिन-दान"),
    "a decomposed letter is composed": ("e\u0301te\u0301", "été"),
    "digits of other kinds": ("x² Ⅷ", "x²-ⅷ"),
    "a variation selector after an emoji does not survive": ("a ❤\ufe0f", "a---"),
    "500 characters": ("n" * 501, "n" * 500),
    "an underscore becomes a hyphen": ("snake_case", "snake-case"),
    "an emoji becomes a hyphen": ("Tea ☕ time", "tea---time"),
}
"""Which characters of a title are kept, and which become a hyphen."""
AS_GIVEN = {
    "Upper-CASE": "Upper-CASE",
    "a b": "a%20b",
    "a/b": "a%2Fb",
    "50%": "50%25",
    "%2F": "%252F",
    "ö": "%C3%B6",
    "q?x=1#y": "q%3Fx%3D1%23y",
    "a+b": "a+b",
    "{braces}": "%7Bbraces%7D",
    "🙂": "%F0%9F%99%82",
    "...": "%2E%2E%2E",
    "e\u0301": "e%CC%81",
    "\u202e": "%E2%80%AE",
    "tab\tnew\nline": "tab%09new%0Aline",
    "'; DROP TABLE entry; --": "'%3B%20DROP%20TABLE%20entry%3B%20--",
    "a\\b": "a%5Cb",
    "🙂" * 400: "%F0%9F%99%82" * 400,
}
"""ContentBuilder slugs, with their form in a path."""


def derived() -> Iterator[Case]:
    for what, (title, slug) in KEPT.items():
        yield Case(f"slugs.1 {what}", create(title), 200, entry(slug=slug, title=title))


@table(
    *derived(),
    Case("slugs.2 hyphens are not collapsed", create("One & two"), 200, entry(slug="one---two")),
    Case("slugs.2 ends are not trimmed", create(" -Ends!- "), 200, entry(slug="--ends---")),
    Case("slugs.2 nothing is transliterated", create("Straße"), 200, entry(slug="straße")),
    Case("slugs.2 hyphens alone are a slug", create("!?!"), 200, entry(slug="---")),
    Case("slugs.3 an empty slug is absent", create("Absent", slug=""), 200, entry(slug="absent")),
    Case(
        "slugs.4 null is not a string",
        create("A", slug=None),
        400,
        says("slug", "string", "leave it out"),
    ),
    Case("slugs.4 a long slug", create("A", slug="n" * 501), 400, says("slug", "501", "500")),
    Case("slugs.4 one dot", create("A", slug="."), 400, says("slug", "'.'", "URL")),
    Case("slugs.4 two dots", create("A", slug=".."), 400, says("slug", "'..'", "URL")),
    Case(
        "checks.10, slugs.8 a derived slug that is taken is 409 naming it",
        create("Taken"),
        409,
        says("'taken'"),
        *CLOSED,
    ),
    Case(
        "slugs.8 a given slug that is taken is 409 naming it",
        create("Another title", slug="taken"),
        409,
        says("'taken'"),
    ),
    Case("slugs.8 and nothing was made", get("/v1/content/posts/taken-1", key=DESK), 404),
)
async def test_slugs(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@pytest.mark.parametrize("slug", AS_GIVEN, ids=[path[:40] for path in AS_GIVEN.values()])
async def test_slugs_5_a_given_slug_is_kept_unchanged(slug: str, client: CheckedClient) -> None:
    created = await client.send(create("As given", slug=slug))
    assert created.data["slug"] == slug


async def test_slugs_6_path_segments_are_percent_decoded(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    for slug, segment in AS_GIVEN.items():
        await workspace.create("By its path", slug=slug)
        found = await workspace.get(f"/v1/content/posts/{segment}")
        assert (found.status, found.data["slug"]) == (200, slug)


async def test_slugs_6_an_encoded_slash_is_part_of_the_slug(client: CheckedClient) -> None:
    error("Content type not found")(await client.send(get("/v1/content/a%2Fb")))
    error("Content entry not found")(await client.send(get("/v1/content/posts/a%2Fb%2Fc")))


@pytest.mark.parametrize("segment", ["%FF", "%00", "%C3%28", "%ED%A0%80", "%", "%zz"])
async def test_slugs_6_invalid_text_finds_nothing(segment: str, client: CheckedClient) -> None:
    error("Content type not found")(await client.send(get(f"/v1/content/{segment}")))
    error("Content entry not found")(await client.send(get(f"/v1/content/posts/{segment}")))


async def test_slugs_7_a_slug_is_free_in_another_type(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    answers = [await workspace.create("Same"), await workspace.create("Same", type_slug="authors")]
    assert statuses(answers) == [200, 200]


async def test_slugs_7_a_slug_is_free_in_another_language(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    await workspace.builder.entry("same", language="fr-FR")
    assert (await workspace.create("Same")).data["slug"] == "same"


async def test_slugs_7_a_slug_is_free_in_another_environment(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(staging=True)
    staging = await workspace.builder.staging()
    await staging.content_type()
    new = {"contentTypeSlug": "posts", "title": "Same"}
    there = "/v1/content?environment=staging"
    answers = [
        await workspace.send(post(new)),
        await workspace.send(post(new, there)),
        await workspace.send(post(new, there)),
    ]
    assert statuses(answers) == [200, 200, 409]


async def test_slugs_7_a_slug_is_free_in_another_workspace(open_workspace: OpenWorkspace) -> None:
    for _ in range(2):
        workspace = await open_workspace()
        assert (await workspace.create("Same")).data["slug"] == "same"


async def test_slugs_7_a_slug_of_a_deleted_entry_is_free(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    await workspace.builder.delete((await workspace.create("Same")).data["id"])
    assert (await workspace.create("Same")).status == 200
