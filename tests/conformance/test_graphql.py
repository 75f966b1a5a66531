"""GraphQL in the specification: §1, §7 and §8. Further tests are in tests/integration/api."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.cases import Case, Expectation, Request, create, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import carries_all_headers, open_to_any_origin
from tests.conformance.isolated_workspace import IsolatedWorkspace, OpenWorkspace
from tests.conformance.magazine import FULL, KEY, NO_STAGING, NOT_SET_UP, VIEWER
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

NEW = """createContentEntry(input: {contentTypeSlug: "posts", title: "New"}) {
  success message entry { id }
}"""
ENTRIES = "contentEntries { pagination { total } }"


def graphql(
    document: str, key: str | None = KEY, target: str = "/graphql", **variables: Any
) -> Request:
    return post({"query": document, "variables": variables}, target, key=key)


def errors(status: int, *words: str) -> Expectation:
    """There is exactly one error, with the status that REST would return."""

    def expect(answer: Answer) -> None:
        [error] = answer.body["errors"]
        assert error["extensions"]["status"] == status
        assert all(word in error["message"] for word in words)
        assert "error" not in answer.body

    return expect


@table(
    Case(
        "7.22 a malformed query",
        graphql("{"),
        200,
        errors(400, "Syntax Error"),
        carries_all_headers,
        open_to_any_origin,
    ),
    Case("7.22 an unknown field", graphql("{ nothing }"), 200, errors(400, "'nothing'")),
    Case("7.22 a body that is no JSON", post(b"{", "/graphql"), 200, errors(400, "valid JSON")),
    Case(
        "7.22 an unknown environment",
        graphql(f"{{ {ENTRIES} }}", target="/graphql?environment=x"),
        200,
        errors(400, "environment", "'x'"),
    ),
    Case(
        "7.22 staging that is not in the plan",
        graphql(f"{{ {ENTRIES} }}", NO_STAGING, "/graphql?environment=staging"),
        200,
        errors(402, "not included in your team's plan"),
    ),
    Case(
        "7.22 staging that is not set up",
        graphql(f"{{ {ENTRIES} }}", NOT_SET_UP, "/graphql?environment=staging"),
        200,
        errors(404, "This team has no staging environment yet"),
    ),
    Case(
        "7.22 an unknown content type",
        graphql('{ contentEntries(type: "nothing") { data { id } } }'),
        200,
        errors(404, "Content type not found"),
    ),
    Case(
        "7.22 an unsupported locale",
        graphql('{ contentEntries(locale: "x") { data { id } } }'),
        200,
        errors(400, "Unsupported locale 'x'"),
    ),
    Case("7.10 no key on /graphql", graphql("{ __typename }", key=None), 401, carries_all_headers),
    Case("1.3 there is no PUT of an entry", with_method("PUT", "/v1/content/posts/harbour"), 405),
    Case("1.3 nor a PATCH", with_method("PATCH", "/v1/content/posts/harbour"), 405),
)
async def test_errors(case: Case, client: CheckedClient) -> None:
    await client.check(case)


REFUSED: dict[str, tuple[str, str]] = {
    "the plan's limit": (FULL, ""),
    "staging that is not in the plan": (NO_STAGING, "?environment=staging"),
    "staging that is not set up": (NOT_SET_UP, "?environment=staging"),
    "an unknown environment": (KEY, "?environment=x"),
    "a missing permission": (VIEWER, ""),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_7_23_a_refused_mutation_has_the_message_of_rest(
    what: str, client: CheckedClient
) -> None:
    key, query = REFUSED[what]
    new = {"contentTypeSlug": "posts", "title": "New"}
    rest = await client.send(post(new, f"/v1/content{query}", key=key))
    answer = await client.send(graphql(f"mutation {{ {NEW} }}", key, f"/graphql{query}"))
    assert rest.status in (400, 402, 403, 404)
    assert answer.status == 200
    assert answer.body["data"]["createContentEntry"] == {
        "success": False,
        "message": rest.body["error"],
        "entry": None,
    }


async def mutated(workspace: IsolatedWorkspace, mutation: str, **variables: Any) -> Any:
    answer = await workspace.send(graphql(mutation, **variables))
    [payload] = answer.body["data"].values()
    assert payload["success"], payload
    return payload


async def test_1_1_updating_publishing_and_deleting_are_done_over_graphql(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    entry = (await workspace.send(create("Harbour", fields={"body": "B"}))).data
    update = """mutation ($id: ID!, $input: UpdateContentEntryInput!) {
      updateContentEntry(id: $id, input: $input) { success message }
    }"""
    changes = {"title": "Port", "status": "published"}
    updated = await mutated(workspace, update, id=entry["id"], input=changes)
    assert updated["message"] == "Content entry was updated"
    [listed] = (await workspace.get("/v1/content/posts")).data
    assert (listed["id"], listed["title"], listed["slug"]) == (entry["id"], "Port", "harbour")
    delete = "mutation ($id: ID!) { deleteContentEntry(id: $id) { success message } }"
    deleted = await mutated(workspace, delete, id=entry["id"])
    assert deleted["message"] == "Content entry was deleted"
    assert (await workspace.get("/v1/content/posts/harbour")).status == 404


async def test_1_2_an_entry_that_is_published_at_once_is_created_over_graphql(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    document = """mutation ($input: CreateContentEntryInput!) {
      createContentEntry(input: $input) { success message entry { publishedAt } }
    }"""
    new = {"contentTypeSlug": "posts", "title": "A", "status": "published", "fields": {"body": "B"}}
    entry = (await mutated(workspace, document, input=new))["entry"]
    [listed] = (await workspace.get("/v1/content/posts")).data
    assert listed["publishedAt"] == entry["publishedAt"]
