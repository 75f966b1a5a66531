"""Every refusal of every mutation returns ``success: false`` and REST's message and appends
nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.integration.api.graphql import create, data, delete, refused, run_query, update
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import STAGES, ContentBuilder, raws
from write_side.domain.definition import Field, Option
from write_side.domain.identity import Scope
from write_side.store.conflicts import StoreUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = (
    Field("body", "Body", "rich_text", required=True),
    Field("views", "Views", "number"),
    Field("category", "Category", "select", options=(Option("news", "News"),)),
    Field("related", "Related", "reference", to=("posts",), multiple=True),
    Field("author", "Author", "reference", to=("authors",)),
    Field("cover", "Cover", "media"),
)
UNKNOWN = "019a0000-0000-7000-8000-000000000000"
TYPE_NOT_FOUND = "Content type not found"
ENTRY_NOT_FOUND = "Content entry not found"
LOCALE = "Unsupported locale 'xx': use a code like en-US or fr-FR"
NO_EDIT = "Forbidden - this API key needs the content.edit permission"
NO_STAGING = "The staging environment is not included in your team's plan"
NOT_SET_UP = "This team has no staging environment yet"
ENVIRONMENT = "Unknown environment 'x': use production or staging"
REQUIRED = "Publishing needs a value in these required fields: body"
FULL = "Your plan's limit of 2 entries is reached; upgrade the plan or delete some to add more"
TAKEN = "'taken' already exists"
NOT_AN_OBJECT = "fields must be an object; leave it out to set no values"
NUL = "NUL character"


class Case(NamedTuple):
    name: str
    payload: Any
    message: str


@pytest_asyncio.fixture(loop_scope="module")
async def acme(server: Server) -> ContentBuilder:
    """A workspace whose plan allows two entries, and allows staging, which is not set up."""
    acme = await server.workspace(entries=2, staging=True)
    await acme.content_type(*FIELDS, stages=STAGES)
    await acme.content_type(slug="authors")
    other = await server.workspace("other", ("content.view",))
    await other.content_type(*FIELDS)
    await server.caught_up()
    return acme


async def test_every_refusal_of_every_mutation(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    taken, entry = await acme.entry("taken"), await acme.entry("entry")
    other = Scope("other" + server.suffix, "production")
    foreign = await ContentBuilder(server.repository, other).entry("foreign")
    head = await server.repository.recorder.head()
    wrong: dict[str, tuple[str, str]] = {}
    for case in cases(client, server.client("secret-of-other"), taken, entry, foreign):
        payload = await case.payload
        appended = await server.repository.recorder.head() - head
        if (
            payload["success"]
            or payload.get("entry")
            or appended
            or case.message not in payload["message"]
        ):
            wrong[case.name] = (payload["message"], f"{appended} appended")
    assert wrong == {}


def cases(client: Client, viewer: Client, taken: str, entry: str, foreign: str) -> Iterator[Case]:
    yield from of_creates(client, viewer, foreign)
    yield from of_updates(client, viewer, entry, foreign)
    for name, entry_id in (("unknown", UNKNOWN), ("foreign", foreign), ("malformed", "x")):
        yield Case(f"delete {name}", delete(client, entry_id), ENTRY_NOT_FOUND)
    yield Case("delete without permission", delete(viewer, foreign), NO_EDIT)
    yield Case("delete in an unknown environment", delete(client, entry, "x"), ENVIRONMENT)
    yield Case("delete where none is set up", delete(client, entry, "staging"), NOT_SET_UP)


def of_creates(client: Client, viewer: Client, foreign: str) -> Iterator[Case]:
    def new(name: str, message: str, as_client: Client = client, **arguments: Any) -> Case:
        whole = {"contentTypeSlug": "posts", "title": "New", **arguments}
        return Case(f"create {name}", create(as_client, **whole), message)

    yield new("in an unknown type", TYPE_NOT_FOUND, contentTypeSlug="nothing")
    yield new("without a title", "Missing required fields: contentTypeSlug and title", title="")
    yield new("with a taken slug", TAKEN, slug="taken")
    yield new("with a title that makes a taken slug", TAKEN, title="Taken")
    yield new("over the plan's limit", FULL)
    yield new("without permission", NO_EDIT, viewer)
    yield new("in an unknown environment", ENVIRONMENT, environment="x")
    yield new("where staging is not in the plan", NO_EDIT, viewer, environment="staging")
    yield new("where staging is not set up", NOT_SET_UP, environment="staging")
    yield new("published without what is required", REQUIRED, status="published")
    yield new("in an unknown language", "Unsupported language 'xx'", language="xx")
    yield new("in an unknown stage", "has no stage 'nowhere'", stageId="nowhere")
    yield from of_both(new, foreign)


def of_updates(client: Client, viewer: Client, entry: str, foreign: str) -> Iterator[Case]:
    def changed(name: str, message: str, as_client: Client = client, **arguments: Any) -> Case:
        return Case(
            f"update {name}", update(as_client, arguments.pop("id", entry), **arguments), message
        )

    for name, entry_id in (("unknown", UNKNOWN), ("foreign", foreign), ("malformed", "x")):
        yield changed(f"of an {name} id", ENTRY_NOT_FOUND, id=entry_id, title="New")
    yield changed("to a taken slug", TAKEN, slug="taken")
    yield changed("to no title", "The title is blank; enter one", title=" ")
    yield changed("of title to null", "title cannot be null: leave it out", title=None)
    yield changed("of slug to null", "slug cannot be null: leave it out", slug=None)
    yield changed("of status to null", "status cannot be null: leave it out", status=None)
    yield changed("of a stale version", "at version 1, not 7", title="New", expectedVersion=7)
    yield changed("without permission", NO_EDIT, viewer, id=foreign, title="New")
    yield changed("in an unknown environment", ENVIRONMENT, environment="x", title="New")
    yield changed("where staging is not set up", NOT_SET_UP, environment="staging", title="New")
    yield changed("to published without what is required", REQUIRED, status="published")
    yield changed("to an unknown stage", "has no stage 'nowhere'", stageId="nowhere")
    yield from of_both(changed, foreign)


def of_both(case: Any, foreign: str) -> Iterator[Case]:
    values: dict[str, tuple[Any, str]] = {
        "text": ({"body": 1}, "Field 'body' takes a string"),
        "number": ({"views": "7"}, "Field 'views' takes a finite number"),
        "option": ({"category": "x"}, "Field 'category' takes one of: news"),
        "media": ({"cover": "x"}, "Field 'cover' refers to 'x', which is not in"),
        "unknown reference": ({"related": [UNKNOWN]}, "which is not in this environment"),
        "foreign reference": ({"related": [foreign]}, "which is not in this environment"),
        "NUL": ({"body": "\x00"}, NUL),
        "array": ([1], NOT_AN_OBJECT),
        "string": ("body", NOT_AN_OBJECT),
    }
    for name, (arguments, message) in values.items():
        yield case(f"with a wrong {name} in fields", message, fields=arguments)
    yield case("with a NUL in the title", NUL, title="a\x00b")
    yield case("with a NUL in the slug", NUL, slug="a\x00b")
    french = {"locale": "fr-FR"}
    translations: dict[str, tuple[list[Any], str]] = {
        "an unknown locale": ([{"locale": "xx", "title": "X"}], LOCALE),
        "its own language": ([{"locale": "en-US", "title": "X"}], "The entry is written in en-US"),
        "a wrong text": ([{**french, "fields": {"body": 1}}], "Field 'body' takes a string"),
        "a locale twice": ([french, french], "the locale 'fr-FR' twice: give it once"),
        "a NUL": ([{**french, "title": "\x00"}], NUL),
        "no object": ([{**french, "fields": []}], NOT_AN_OBJECT),
    }
    for name, (texts, message) in translations.items():
        yield case(f"with a translation of {name}", message, translations=texts)


async def test_staging_that_is_not_in_the_plan(server: Server) -> None:
    await (await server.workspace()).content_type()
    client = server.client()
    for payload in (
        await create(client, "staging", contentTypeSlug="posts", title="A"),
        await update(client, UNKNOWN, "staging", title="A"),
        await delete(client, UNKNOWN, "staging"),
    ):
        assert (payload["success"], payload["message"]) == (False, NO_STAGING)


async def test_queries_are_refused_with_the_status_of_rest(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await server.key("an-editor's", "acme", ("content.edit",))
    entries = "{ contentEntries { pagination { total } } }"
    editor = server.client("an-editor's")
    assert await refused(editor, entries) == (
        403,
        "Forbidden - this API key needs the content.view permission",
    )
    assert await refused(client, entries, headers={"X-Environment": "staging"}) == (404, NOT_SET_UP)
    assert (await data(editor, "{ __typename __schema { queryType { name } } }"))["__typename"]
    for query, expected in {
        '{ contentEntry(type: "x", slug: "x") { id } }': (404, TYPE_NOT_FOUND),
        '{ contentEntries(type: "\\u0000") { data { id } } }': (404, TYPE_NOT_FOUND),
        '{ contentEntries(type: "x", status: draft) { data { id } } }': (404, TYPE_NOT_FOUND),
        '{ contentEntryById(id: "x", locale: "xx") { id } }': (400, LOCALE),
        '{ contentEntry(type: "posts", slug: "x", locale: "xx") { id } }': (400, LOCALE),
    }.items():
        assert await refused(client, query) == expected


async def test_unknown_content_is_null(client: Client, acme: ContentBuilder) -> None:
    query = """{
      slug: contentEntry(type: "posts", slug: "nothing") { id }
      nul: contentEntry(type: "posts", slug: "\\u0000") { id }
      language: contentEntry(type: "posts", slug: "taken", language: "fr-FR") { id }
      id: contentEntryById(id: "019a0000-0000-7000-8000-000000000000") { id }
      malformed: contentEntryById(id: "x") { id }
      type: contentType(slug: "nothing") { id }
    }"""
    assert set((await data(client, query)).values()) == {None}
    await acme.entry("taken")
    found = await data(client, '{ contentEntries(language: "\\u0000") { data { id } } }')
    assert found == {"contentEntries": {"data": []}}


async def test_a_mutation_succeeds_even_if_its_key_may_not_read(
    server: Server, acme: ContentBuilder
) -> None:
    await server.key("an-editor's", "acme", ("content.edit",))
    document = """mutation { createContentEntry(input: {contentTypeSlug: "posts", title: "A"}) {
      success entry { title history { version } } } }"""
    answer = await run_query(server.client("an-editor's"), document)
    assert answer.body["data"]["createContentEntry"] == {"success": True, "entry": None}
    assert answer.body["errors"][0]["extensions"] == {"status": 403}


async def test_an_update_returns_the_entry_only_to_viewers_a_create_always(
    server: Server, acme: ContentBuilder
) -> None:
    await server.key("an-editor's", "acme", ("content.edit",))
    editor = server.client("an-editor's")
    document = """mutation ($id: ID!) {
      updateContentEntry(id: $id, input: %s) { success entry { fields } }
    }"""
    secret = await acme.entry("secret", fields=raws(body="secret"))
    for fields in ("{}", '{title: "New"}'):
        answer = await run_query(editor, document % fields, id=secret)
        assert answer.body["data"] == {"updateContentEntry": {"success": True, "entry": None}}
        assert [error["extensions"] for error in answer.body["errors"]] == [{"status": 403}]
        assert '"secret"' not in answer.text
    created = await data(
        editor,
        """mutation { createContentEntry(input: {contentTypeSlug: "posts", title: "Mine"}) {
          entry { title } } }""",
    )
    assert created == {"createContentEntry": {"entry": {"title": "Mine"}}}


async def test_an_unavailable_store_is_a_refusal_and_an_internal_fault_an_error(
    client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch, logged: Any
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailable("hunter2")

    async def failing(*_: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("api.graphql.mutation.execute", away)
    payload = await delete(client, UNKNOWN)
    assert payload == {
        "success": False,
        "message": "Service temporarily unavailable, please retry",
    }
    monkeypatch.setattr("api.graphql.mutation.execute", failing)
    read = logged("json")
    document = f'mutation {{ deleteContentEntry(id: "{UNKNOWN}") {{ success }} }}'
    answer = await run_query(client, document, headers={"X-Request-Id": "mine-1"})
    assert answer.status == 200
    [error] = answer.body["errors"]
    assert (error["message"], error["extensions"]["status"]) == ("Internal server error", 500)
    assert "hunter2" not in answer.text
    assert "hunter2" in read()
    assert '"request_id":"mine-1"' in read()
