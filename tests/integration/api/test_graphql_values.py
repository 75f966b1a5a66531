"""GraphQL returns the JSON values that were sent, as REST does."""

from __future__ import annotations

import json

import msgspec
import pytest
import pytest_asyncio

from tests.integration.api.graphql import run_query
from tests.integration.api.server import Answer, Client, Server
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.definition import Field

pytestmark = pytest.mark.asyncio(loop_scope="module")

CREATE = """mutation ($input: CreateContentEntryInput!) {
  createContentEntry(input: $input) { success message entry { fields } }
}"""
READ = "{ contentEntries(limit: 1) { data { fields } } }"
SURVIVING = (
    "0.1000",
    "12345678901234567890123456789012345678901234567890",
    "-0",
    "1E+2",
    "1e400",
    '{"b":1,"a":{"2":[],"1":null}}',
    '{"a":1,"a":2}',
    r'"\u00e9\/\n"',
    '"é 🌊 \u2028"',
    "[[],{},[1.0,[true,false,null]]]",
    '"' + "x" * 10_000 + '"',
)
# GraphQL literals, whose strings and objects are not JSON, and the JSON that they mean.
WRITTEN = {
    "0.1000": "0.1000",
    "12345678901234567890123456789012345678901234567890": (
        "12345678901234567890123456789012345678901234567890"
    ),
    "1e400": "1e400",
    "{b: 1, a: {z: [], y: null, x: true}}": '{"b":1,"a":{"z":[],"y":null,"x":true}}',
    '"é \\u00e9 🌊 \\u{1F30A}"': '"é é 🌊 🌊"',
    '[1.0, "a", [[]]]': '[1.0,"a",[[]]]',
    '"""\n  a\n    b\n"""': '"a\\n  b"',
}


@pytest_asyncio.fixture(loop_scope="module")
async def meta(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type(Field("meta", "Meta", "json"), Field("views", "Views", "number"))
    await server.caught_up()
    return acme


async def sent(client: Client, fields: str, title: str = "A", door: str = "/graphql") -> Answer:
    """Sends a create with these raw fields over REST or GraphQL."""
    whole = f'{{"contentTypeSlug":"posts","title":{json.dumps(title)},"fields":{fields}}}'
    if door == "/graphql":
        whole = f'{{"query":{json.dumps(CREATE)},"variables":{{"input":{whole}}}}}'
    return await client.post(whole.encode("utf-8", "surrogatepass"), door)


def message(answer: Answer) -> str:
    payload = answer.body["data"]["createContentEntry"]
    assert payload["success"] is False
    return str(payload["message"])


async def test_every_json_value_is_returned_unchanged(client: Client, meta: ContentBuilder) -> None:
    for number, value in enumerate(SURVIVING):
        answer = await sent(client, f'{{ "meta" : {value} , "views":0.10}}', f"Entry {number}")
        expected = f'"fields":{{"meta":{value},"views":0.10}}'
        assert expected in answer.text
        assert expected in (await run_query(client, READ)).text
        assert expected in (await client.get(f"/v1/content/posts/entry-{number}")).text


async def test_json_literals_in_the_document_are_returned_unchanged(
    client: Client, meta: ContentBuilder
) -> None:
    for number, (written, value) in enumerate(WRITTEN.items()):
        document = f"""mutation ($views: Int, $left: JSON) {{ createContentEntry(input: {{
          contentTypeSlug: "posts", title: "Entry {number}",
          fields: {{ views: $views, meta: {written}, left: $left }}
        }}) {{ success entry {{ fields }} }} }}"""
        answer = await run_query(client, document, views=7)
        assert f'"fields":{{"meta":{value},"views":7}}' in answer.text, answer.text


async def test_a_json_variable_inside_a_literal(client: Client, meta: ContentBuilder) -> None:
    document = """mutation ($a: JSON = {default: 1.10}, $b: JSON) { createContentEntry(input: {
      contentTypeSlug: "posts", title: "A", fields: { meta: {a: $a, b: [$b, $c], c: $c} }
    }) { entry { fields } } }"""
    answer = await run_query(client, document.replace("$b: JSON", "$b: JSON, $c: JSON"), b={"x": 1})
    assert '"meta":{"a":{"default":1.10},"b":[{"x":1},null]}' in answer.text


async def test_graphql_refuses_with_the_messages_of_rest(
    client: Client, meta: ContentBuilder
) -> None:
    deep = "[" * 255 + "]" * 255
    for fields in (
        '{"views":1e400}',
        '{"views":"1"}',
        f'{{"meta":{deep}}}',
        r'{"meta":"a\u0000b"}',
        r'{"meta":{"\u0000":1}}',
        "[]",
        "7",
    ):
        rest = await sent(client, fields, door="/v1/content")
        assert rest.status == 400
        assert message(await sent(client, fields)) == rest.body["error"]
    allowed = deep[1:-1]
    assert (await sent(client, f'{{"meta":{allowed}}}', door="/v1/content")).status == 200
    assert f'"meta":{allowed}' in (await sent(client, f'{{"meta":{allowed}}}', "B")).text


async def test_a_body_that_cannot_be_read_is_refused_as_a_whole(
    client: Client, meta: ContentBuilder
) -> None:
    half = await sent(client, r'{"meta":"\ud800"}')
    rest = await sent(client, r'{"meta":"\ud800"}', door="/v1/content")
    [error] = half.body["errors"]
    assert (error["message"], error["extensions"]["status"]) == (rest.body["error"], rest.status)
    for body in (b"", b"{", b"\xff", b'{"query":"{__typename}",}'):
        answer = await client.post(body, "/graphql")
        [error] = answer.body["errors"]
        assert error["extensions"]["status"] == 400
        assert error["message"] == "Request body must be valid JSON", body
    for body in (
        b"[]",
        b"7",
        b"{}",
        b'{"query":7}',
        b'{"query":""}',
        b'{"query":"{__typename}","operationName":7}',
        b'[{"query":"{__typename}"}]',
    ):
        answer = await client.post(body, "/graphql")
        assert answer.body["errors"][0]["message"].startswith("Send an object"), body
    answer = await client.post({"query": "{ __typename }", "variables": [1]}, "/graphql")
    assert (
        answer.body["errors"][0]["message"]
        == "variables must be an object: leave them out for none"
    )


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"title": "A", "contentTypeSlug": "a", "nope": 1}, "not to include unknown field 'nope'"),
        (
            {"titel": "A", "contentTypeSlug": "a", "title": "A"},
            "not to include unknown field 'titel'. Did you mean 'title'?",
        ),
        ({"title": "A"}, "to include required field 'contentTypeSlug'"),
    ],
)
async def test_a_wrong_member_of_an_input_is_named_without_the_whole_input(
    client: Client, meta: ContentBuilder, arguments: dict[str, object], fault: str
) -> None:
    document = "mutation($i: CreateContentEntryInput!) { createContentEntry(input: $i) {success} }"
    variables = {"i": {**arguments, "fields": {"body": "Text"}}}
    answer = await client.post({"query": document, "variables": variables}, "/graphql")
    [error] = answer.body["errors"]
    assert error["message"] == (
        f"Variable '$i' has invalid value: Expected value of type 'CreateContentEntryInput' {fault}"
    )
    assert error["locations"] == [{"line": 1, "column": 10}]


async def test_numbers_of_the_schema_are_not_our_json(client: Client, meta: ContentBuilder) -> None:
    """A value that a built-in GraphQL type rejects is an error of the query."""
    query = "query ($n: Int) { contentEntries(limit: $n) { data { id } } }"
    for wrong in ("1.5", '"1"', "true", "2147483648", "9" * 5000, "1e400", "[1]", '{"a":1}'):
        body = f'{{"query":{json.dumps(query)},"variables":{{"n":{wrong}}}}}'
        answer = await client.post(body.encode(), "/graphql")
        assert [e["extensions"]["status"] for e in answer.body["errors"]] == [400], wrong
    body = f'{{"query":{json.dumps(query)},"variables":{{"n":null,"unknown":1e400}}}}'
    assert msgspec.json.decode((await client.post(body.encode(), "/graphql")).text)["data"]


async def test_unknown_names_of_the_schema_are_reported(
    client: Client, meta: ContentBuilder
) -> None:
    for value, named in (
        ({"contentTypeSlug": "posts", "title": "A", "nope": 1}, "nope"),
        ({"contentTypeSlug": "posts"}, "title"),
        ({"contentTypeSlug": "posts", "title": "A", "status": "live"}, "live"),
        ({"contentTypeSlug": "posts", "title": 7}, "title"),
        ({"contentTypeSlug": "posts", "title": None}, "title"),
        ([1], "CreateContentEntryInput"),
    ):
        answer = await run_query(client, CREATE, input=value)
        [error] = answer.body["errors"]
        assert error["extensions"]["status"] == 400
        assert named in error["message"]


async def test_a_large_value_is_a_variable_that_is_used_once(
    client: Client, meta: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(*_: object, **__: object) -> None:
        raise AssertionError("the document was read")

    document = """mutation ($x: JSON = %s) { createContentEntry(input: {
      contentTypeSlug: "posts", title: "A", fields: {meta: [%s]}
    }) { success } }"""
    large = "x" * 10_000
    answer = await run_query(client, document % ("1", "$x " * 100), x=large)
    assert answer.body["data"]["createContentEntry"] == {"success": True}
    written = "$x " * 500
    for answer in (
        await run_query(client, document % ("1", written), x=large),
        await run_query(client, document % (f'"{large}"', written)),
    ):
        [error] = answer.body["errors"]
        assert error["extensions"]["status"] == 400
        assert "add up to 5,001,000 bytes; the limit is 4,194,304" in error["message"]
    monkeypatch.setattr("api.graphql.handler.schema.execute", execute)
    answer = await run_query(client, document % (f'"{large * 20}"', "$x"))
    [error] = answer.body["errors"]
    assert error["extensions"]["status"] == 400
    assert "send large values as variables" in error["message"]
