"""``select`` returns only some members of each entry."""

from __future__ import annotations

import msgspec
import pytest
import pytest_asyncio
from msgspec import Raw

from tests.integration.api.server import Client, Server
from tests.integration.api.shapes import entry, write_types
from tests.integration.projector.sample_log import ContentBuilder, raws

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONE, OF_TYPE, ACROSS = "/v1/content/posts/one", "/v1/content/posts", "/v1/content"
PATHS = (ONE, OF_TYPE, ACROSS)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def written(server: Server, acme: ContentBuilder) -> None:
    await write_types(acme)
    values = {**raws(body="The tide \\ is “out”", faq=[{}, {}]), "price": Raw(b"1.50e+3")}
    await acme.entry("one", status="published", fields=values)
    await server.caught_up()


def first(text: str) -> dict[str, Raw]:
    data = msgspec.json.decode(text, type=dict[str, Raw])["data"]
    found = msgspec.json.decode(data, type=list[dict[str, Raw]] | dict[str, Raw])
    return found[0] if isinstance(found, list) else found


@pytest.mark.parametrize("path", PATHS)
async def test_each_member_alone_has_the_text_of_the_whole_entry(path: str, client: Client) -> None:
    whole = first((await client.get(path)).text)
    for name, value in whole.items():
        found = first((await client.get(f"{path}?select={name}")).text)
        assert found == {"id": whole["id"], name: value}
    fields = msgspec.json.decode(whole["fields"], type=dict[str, Raw])
    assert bytes(fields["price"]) == b"1.50e+3"
    for slug, value in fields.items():
        found = first((await client.get(f"{path}?select=fields.{slug}")).text)
        assert msgspec.json.decode(found["fields"], type=dict[str, Raw]) == {slug: value}


@pytest.mark.parametrize("path", PATHS)
async def test_members_and_fields_keep_the_order_of_the_body(path: str, client: Client) -> None:
    plain = await client.get(path)
    names = "fields.price, updatedAt,fields.body,title,title,id"
    answer = await client.get(f"{path}?select={names}")
    assert list(answer.body) == list(plain.body)
    shown = first(answer.text)
    assert list(shown) == ["id", "title", "updatedAt", "fields"]
    assert list(msgspec.json.decode(shown["fields"])) == ["body", "price"]
    all_names = ",".join(reversed(first(plain.text)))
    assert (await client.get(f"{path}?select={all_names}")).text == plain.text
    assert (await client.get(f"{path}?select=fields.body,{all_names}")).text == plain.text


async def test_fields_that_a_type_lacks_are_left_out_across_types(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await entry(acme, "ada", "authors", bio="x")
    await server.caught_up()
    found = await client.get(f"{ACROSS}?select=fields.bio,fields.price")
    assert [one["fields"] for one in found.data] == [{"bio": "x"}, {"price": 1500.0}]


async def test_a_large_page_is_selected_from_too(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await entry(acme, "large", body="x" * 100_000, price=7)
    await server.caught_up()
    answer = await client.get(f"{OF_TYPE}?select=slug,fields.price")
    assert [one["slug"] for one in answer.data] == ["large", "one"]
    assert [one["fields"] for one in answer.data] == [{"price": 7}, {"price": 1500.0}]
    assert len(answer.text) < 500
    single = await client.get(f"{OF_TYPE}/large?select=title")
    assert list(single.data) == ["id", "title"]


REFUSED = [
    (OF_TYPE, "Title", "'Title'"),
    (OF_TYPE, "fields.", "'fields.'"),
    (OF_TYPE, "fields.%00", "'fields."),
    (OF_TYPE, "fields.body.x", "'fields.body.x'"),
    (OF_TYPE, "fields.nope", "'fields.nope' in select: use one of author, body"),
    (OF_TYPE, "fields.layout", "'fields.layout'"),
    (ACROSS, "fields.nope", "'fields.nope' in select: use one of author, bio"),
    (ACROSS + "?type=topics", "fields.bio", "'fields.bio' in select: use one of author, part"),
    (ONE, "fields.nope", "'fields.nope'"),
    (OF_TYPE, "x" * 5_000, "'xxxxx"),
]


async def test_other_names_are_refused_by_name(client: Client) -> None:
    for path, names, message in REFUSED:
        answer = await client.get(f"{path}{'&' if '?' in path else '?'}select={names}")
        assert answer.status == 400, (path, names, answer.text)
        assert message in answer.body["error"]
        assert len(answer.body["error"]) < 700


async def test_an_unknown_type_is_404_before_its_fields(client: Client) -> None:
    for path in ("/v1/content/nope", "/v1/content/nope/one", "/v1/content?type=nope"):
        sign = "&" if "?" in path else "?"
        assert (await client.get(f"{path}{sign}select=fields.body")).status == 404
        assert (await client.get(f"{path}{sign}include=author")).status == 404
        assert (await client.get(f"{path}{sign}select=name")).status == 400
