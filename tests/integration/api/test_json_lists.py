"""A list has the same bytes however its entries are read and encoded."""

from __future__ import annotations

import pytest

from api.rest import wire
from read_side import paging
from tests.integration.api.server import Server
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import SCOPE, ContentBuilder, raws

OTHER_VERSION = "UPDATE read_model.entry SET type_version = 0"
LIMIT, OFFSET = 3, 0


async def filled(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type()
    for slug in ("one", "two", "thrée"):
        entry = await acme.entry(slug, title=f'"{slug}"\u2028', fields=raws(body=slug))
    await acme.translate(entry, "fr-FR", title="Trois")
    await server.caught_up()


async def encoded(server: Server, path: str, locale: str) -> bytes:
    """The whole body, as msgspec encodes it from the rows."""
    pool = server.service.read_model
    pagination = wire.ListPagination(limit=LIMIT, offset=OFFSET, total=3)

    if path == "/v1/content":
        page = await paging.list_across_types(
            pool, SCOPE, type_slug=None, locale=locale, limit=LIMIT, offset=OFFSET
        )
        assert page.json is None
        rows = [wire.entry_of_any_type(row, locale) for row in page.rows]
        return wire.encode(wire.ListBody(rows, pagination))
    page = await paging.list_of_type(
        pool,
        SCOPE,
        type_slug="posts",
        status="draft",
        language="en-US",
        locale=locale,
        limit=LIMIT,
        offset=OFFSET,
    )
    assert page.json is None
    listed = [wire.listed_entry(row, locale) for row in page.rows]
    return wire.encode(wire.TypeListBody(True, listed, pagination))


@pytest.mark.parametrize("read", ["as JSON", "of an older type", "large"])
async def test_every_way_has_the_same_bytes(
    read: str, server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(server, acme)
    expected = {
        (path, locale): await encoded(server, path, locale)
        for path in ("/v1/content", "/v1/content/posts")
        for locale in ("en-US", "fr-FR")
    }
    if read == "of an older type":
        async with connected(server.url) as connection:
            await connection.execute(OTHER_VERSION)
    if read == "large":
        monkeypatch.setattr("read_side.paging.INLINE", 10)
    for (path, locale), body in expected.items():
        answer = await server.client().get(f"{path}?limit=3&status=draft&locale={locale}")
        assert answer.text.encode() == body
