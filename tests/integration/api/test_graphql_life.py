"""The life of an entry over GraphQL: created, published, translated, archived, deleted."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from tests.integration.api.graphql import create, data, run_query, update
from tests.integration.api.server import Client, Server, serving
from tests.integration.projector.sample_log import STAGES, ContentBuilder
from write_side.domain.definition import Field
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = (
    Field("body", "Body", "rich_text", required=True),
    Field("lead", "Lead", "text"),
    Field("related", "Related", "reference", multiple=True),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"), Field("n", "N", "number"))),
)
STATES = """query ($id: ID!, $locale: String) {
  contentEntryById(id: $id, locale: $locale) { title fields }
}"""


@pytest_asyncio.fixture(loop_scope="module")
async def posts(acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type(*FIELDS, stages=STAGES)
    return acme


async def created(client: Client, **arguments: Any) -> Any:
    payload = await create(client, **{"contentTypeSlug": "posts", "title": "Hello", **arguments})
    assert payload["success"], payload["message"]
    return payload["entry"]


async def updated(client: Client, entry: Any, **arguments: Any) -> Any:
    payload = await update(client, entry["id"], **arguments)
    assert payload["success"], payload["message"]
    return payload["entry"]


async def test_a_created_entry_is_returned_and_can_be_read_at_once(
    client: Client, posts: ContentBuilder
) -> None:
    entry = await created(
        client, fields={"body": "Text", "unknown": 1}, status="published", stageId="review"
    )
    assert (entry["slug"], entry["version"], entry["stage"]["id"]) == ("hello", 1, "review")
    assert entry["fields"] == {"body": "Text", "lead": None, "related": [], "faq": []}
    assert entry["publishedAt"] == entry["createdAt"] == entry["updatedAt"]
    rest = (await client.get("/v1/content/posts/hello")).data
    shown = {name: value for name, value in entry.items() if name not in ("version", "contentType")}
    assert {**rest, "contentType": None} == {**shown, "contentType": None}


async def test_a_null_stage_is_the_first_one(client: Client, posts: ContentBuilder) -> None:
    entry = await created(client)
    assert (await updated(client, entry, stageId=None))["version"] == 1
    await updated(client, entry, stageId="review")
    assert (await updated(client, entry, stageId=None))["version"] == 3
    assert (await updated(client, entry, stageId="writing"))["version"] == 3


async def test_an_empty_stage_counts_as_absent(client: Client, posts: ContentBuilder) -> None:
    entry = await created(client, stageId="")
    assert entry["stage"]["id"] == "writing"
    await updated(client, entry, stageId="review")
    assert (await updated(client, entry, stageId=""))["stage"]["id"] == "review"


async def test_an_unchanged_entry_appends_no_event(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    entry = await created(client, fields={"body": "Text"})
    head = await server.repository.recorder.head()
    payload = await update(
        client, entry["id"], title="Hello", slug="", fields={"body": "Text", "lead": None}
    )
    assert payload["success"]
    assert payload["entry"] == entry
    assert await server.repository.recorder.head() == head


async def test_translations_fall_back_per_field_in_rest_and_graphql(
    client: Client, posts: ContentBuilder
) -> None:
    faq = [{"q": "Why?", "n": 1}, {"q": "How?", "n": 2}]
    entry = await created(client, status="published", fields={"body": "B", "lead": "L", "faq": faq})
    french = {
        "locale": "fr-FR",
        "title": "Bonjour",
        "fields": {"lead": "F", "faq": [{"q": "?"}, {}]},
    }
    await updated(client, entry, translations=[french])
    shown = await shown_in(client, entry, "fr-FR")
    assert shown == ("Bonjour", {"body": "B", "lead": "F", "faq": ["?", "How?"]})
    await updated(client, entry, translations=[{"locale": "fr-FR", "title": None}])
    assert (await shown_in(client, entry, "fr-FR"))[0] == "Hello"
    assert (await shown_in(client, entry, "fr-FR"))[1]["lead"] == "F"
    await updated(client, entry, translations=[{"locale": "fr-FR", "fields": {"lead": ""}}])
    assert (await shown_in(client, entry, "fr-FR"))[1]["lead"] == "L"
    assert await shown_in(client, entry, "de-DE") == await shown_in(client, entry, "en-US")


async def shown_in(client: Client, entry: Any, locale: str) -> tuple[str, Any]:
    """The title and fields in a locale. Checks that REST and GraphQL agree."""
    rest = (await client.get(f"/v1/content/posts/{entry['slug']}?locale={locale}")).data
    found = (await data(client, STATES, id=entry["id"], locale=locale))["contentEntryById"]
    assert (found["title"], found["fields"]) == (rest["title"], rest["fields"])
    fields = rest["fields"]
    asked_for = {
        "body": fields["body"],
        "lead": fields["lead"],
        "faq": [e["q"] for e in fields["faq"]],
    }
    return rest["title"], asked_for


async def test_entries_of_one_slug_in_several_languages_are_separate(
    client: Client, posts: ContentBuilder
) -> None:
    english = await created(client, fields={"body": "E"}, status="published")
    german = await created(client, language="de-DE", fields={"body": "D"}, status="published")
    assert english["slug"] == german["slug"]
    query = """query ($language: String) {
      contentEntry(type: "posts", slug: "hello", language: $language) { id language fields }
    }"""
    for language, entry in (("en-US", english), ("de-DE", german)):
        found = (await data(client, query, language=language))["contentEntry"]
        assert (found["id"], found["language"]) == (entry["id"], language)
        rest = (await client.get(f"/v1/content/posts/hello?language={language}")).data
        assert rest["id"] == entry["id"]
    assert (await data(client, query, language=None))["contentEntry"]["id"] == english["id"]


async def test_mutations_of_one_document_run_in_order_and_independently(
    client: Client, posts: ContentBuilder
) -> None:
    document = """mutation ($first: CreateContentEntryInput!, $taken: CreateContentEntryInput!) {
      first: createContentEntry(input: $first) { success entry { slug } }
      taken: createContentEntry(input: $taken) { success message }
      last: createContentEntry(input: {contentTypeSlug: "posts", title: "Last"}) {
        success entry { slug version }
      }
    }"""
    new = {"contentTypeSlug": "posts", "title": "Hello"}
    answered = await data(client, document, first=new, taken=new)
    assert list(answered) == ["first", "taken", "last"]
    assert [answered[name]["success"] for name in answered] == [True, False, True]
    assert "'hello' already exists" in answered["taken"]["message"]
    slugs = [entry["slug"] for entry in (await client.get("/v1/content")).data]
    assert slugs == ["last", "hello"]


async def test_a_later_mutation_sees_what_an_earlier_one_wrote(
    client: Client, posts: ContentBuilder
) -> None:
    target = "019a0000-0000-7000-8000-000000000001"
    holder = await created(client)
    document = """mutation ($id: ID!, $second: ID!) {
      a: updateContentEntry(id: $id, input: {title: "A", expectedVersion: 1}) { entry { version } }
      b: updateContentEntry(id: $id, input: {title: "B", expectedVersion: 2}) { entry { version } }
      c: deleteContentEntry(id: $id) { success }
      d: updateContentEntry(id: $id, input: {title: "D"}) { success message }
      e: deleteContentEntry(id: $second) { success message }
    }"""
    answered = await data(client, document, id=holder["id"], second=target)
    assert (answered["b"]["entry"]["version"], answered["c"]["success"]) == (3, True)
    for unknown in ("d", "e"):
        assert answered[unknown] == {"success": False, "message": "Content entry not found"}


async def test_the_result_of_a_mutation_can_be_selected_in_depth(
    client: Client, posts: ContentBuilder
) -> None:
    target = await created(client, title="Target")
    document = """mutation ($input: CreateContentEntryInput!) {
      createContentEntry(input: $input) { entry {
        contentType { slug fields { slug } stages { name } }
        references(field: "related") { title } history { version action }
      } }
    }"""
    new = {"contentTypeSlug": "posts", "title": "B", "fields": {"related": [target["id"]]}}
    entry = (await data(client, document, input=new))["createContentEntry"]["entry"]
    assert [field["slug"] for field in entry["contentType"]["fields"]] == [f.slug for f in FIELDS]
    assert entry["references"] == [{"title": "Target"}]
    assert entry["history"] == [{"version": 1, "action": "created"}]


async def test_each_mutation_reads_again(client: Client, posts: ContentBuilder) -> None:
    target = await created(client, title="Old")
    holder = await created(client, fields={"related": [target["id"]]})
    shown = '{ entry { references(field: "related") { title history(limit: 1) { version } } } }'
    document = f"""mutation ($id: ID!, $target: ID!) {{
      before: updateContentEntry(id: $id, input: {{title: "A"}}) {shown}
      changed: updateContentEntry(id: $target, input: {{title: "New"}}) {{ success }}
      after: updateContentEntry(id: $id, input: {{title: "B"}}) {shown}
    }}"""
    answered = await data(client, document, id=holder["id"], target=target["id"])
    assert [answered[name]["entry"]["references"] for name in ("before", "after")] == [
        [{"title": "Old", "history": [{"version": 1}]}],
        [{"title": "New", "history": [{"version": 2}]}],
    ]


@pytest.mark.asyncio(loop_scope="function")
async def test_the_entry_is_correct_without_a_projector(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, projector=False, read_your_writes=0.05) as server:
        acme = await server.workspace()
        await acme.content_type(*FIELDS, stages=STAGES)
        entry = await created(server.client(), fields={"body": "B"})
        changed = await updated(server.client(), entry, status="published", title="T")
        assert (changed["title"], changed["version"]) == ("T", 2)
        answer = await run_query(
            server.client(),
            "mutation ($id: ID!) { deleteContentEntry(id: $id) { success } }",
            id=entry["id"],
        )
        assert answer.body["data"]["deleteContentEntry"]["success"]
        assert answer.headers["X-Content-Visible"] == "false"
        assert answer.headers["X-Content-Position"]
