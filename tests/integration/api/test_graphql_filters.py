"""GraphQL filter values have the types of their fields and are compared exactly."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.integration.api.graphql import refused
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import STAGES, ContentBuilder
from write_side.domain.definition import Field, Option

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIST = """query ($filter: JSON) {
  contentEntries(type: "posts", status: published, filter: $filter) { data { slug } } }"""
FIELDS = (
    Field("price", "Price", "number", indexed=True),
    Field("lead", "Lead", "text", indexed=True),
    Field("on_sale", "On sale", "boolean", indexed=True),
    Field("when", "When", "datetime", indexed=True),
    Field("span", "Span", "datetime", range=True, indexed=True),
    Field(
        "colours", "Colours", "select", options=(Option("red", "Red"),), multiple=True, indexed=True
    ),
    Field("author", "Author", "reference", indexed=True),
)
ID = "018f0000-0000-7000-8000-00000000dead"
STRING, NUMBER, BOOLEAN = "a string in JSON", "a number in JSON", "a boolean in JSON: true or false"
TIME = f"{STRING}: an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z"
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"fields.lead": 5}, f"The number '5' in filter[fields.lead] must be {STRING}"),
    ({"title": True}, f"The boolean 'true' in filter[title] must be {STRING}"),
    ({"title": {"contains": 5}}, f"The number '5' in filter[title][contains] must be {STRING}"),
    (
        {"slug": {"startsWith": False}},
        f"The boolean 'false' in filter[slug][startsWith] must be {STRING}",
    ),
    ({"title": {"in": ["5", 5]}}, f"The number '5' in filter[title][in] must be {STRING}"),
    (
        {"fields.price": {"gte": 1, "lt": "7"}},
        f"The string '7' in filter[fields.price][lt] must be {NUMBER}",
    ),
    ({"fields.price": "x"}, f"The string 'x' in filter[fields.price] must be {NUMBER}"),
    (
        {"fields.price": {"nin": [1, True]}},
        f"The boolean 'true' in filter[fields.price][nin] must be {NUMBER}",
    ),
    ({"fields.on_sale": "true"}, f"The string 'true' in filter[fields.on_sale] must be {BOOLEAN}"),
    ({"fields.on_sale": 1}, f"The number '1' in filter[fields.on_sale] must be {BOOLEAN}"),
    *(
        (
            {name: {"exists": "true"}},
            f"The string 'true' in filter[{name}][exists] must be {BOOLEAN}",
        )
        for name in ("title", "fields.price", "fields.colours", "status", "id")
    ),
    ({"createdAt": {"gt": 2026}}, f"The number '2026' in filter[createdAt][gt] must be {TIME}"),
    ({"fields.when": True}, f"The boolean 'true' in filter[fields.when] must be {TIME}"),
    (
        {"fields": {"price": {"gte": 1}}},
        "Unknown field 'fields' in filter: name a field of the content type as fields.SLUG",
    ),
    ({"fields.span.from": 5}, f"The number '5' in filter[fields.span.from] must be {TIME}"),
    (
        {"fields.colours": {"contains": 1}},
        f"The number '1' in filter[fields.colours][contains] must be {STRING}: the value of an "
        "option",
    ),
    (
        {"fields.author": {"in": [ID, 7]}},
        f"The number '7' in filter[fields.author][in] must be {STRING}: the id of an entry, a UUID "
        "in lower case",
    ),
    *(
        ({name: 1}, f"The number '1' in filter[{name}] must be {STRING}")
        for name in ("id", "slug", "status", "language", "contentType")
    ),
    ({"stage": 1}, f"The number '1' in filter[stage] must be {STRING}: an id"),
]


async def test_values_of_another_type_are_refused(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(*FIELDS, stages=STAGES)
    await server.caught_up()
    for filters, message in REFUSED:
        assert await refused(client, LIST, filter=filters) == (400, message)
        [name] = filters
        if name.isalpha():  # a name that GraphQL allows in a literal
            document = LIST.replace("$filter: JSON", "").replace("query ()", "")
            document = document.replace("$filter", literal(filters))
            assert await refused(client, document) == (400, message)


def literal(value: Any) -> str:
    if not isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return "{" + ", ".join(f"{name}: {literal(one)}" for name, one in value.items()) + "}"


EXACT = {
    "9007199254740993": ["large"],
    "9007199254740993.0": ["large"],
    "9007199254740992": ["smaller"],
    "90071992547409930e-1": ["large"],
    "0.1000000000000000000000000000001": ["decimal"],
    "0.1": [],
}
"""Numbers that a double cannot represent, or cannot tell from a neighbour, and the entries that
match."""


async def test_numbers_are_exact(client: Client, acme: ContentBuilder, server: Server) -> None:
    await acme.content_type(*FIELDS)
    for slug, price in (
        ("large", b"9007199254740993"),
        ("smaller", b"9007199254740992"),
        ("decimal", b"0.1000000000000000000000000000001"),
    ):
        await acme.entry(slug, status="published", fields={"price": Raw(price)})
    await server.caught_up()
    for number, slugs in EXACT.items():
        for operand in (number, f'{{"in": [{number}, 7]}}'):
            variables = {"filter": {"fields.price": Raw(operand.encode())}}
            body = msgspec.json.encode({"query": LIST, "variables": variables})
            answer = await client.post(body, "/graphql")
            found = answer.body["data"]["contentEntries"]["data"]
            assert [one["slug"] for one in found] == slugs, operand
