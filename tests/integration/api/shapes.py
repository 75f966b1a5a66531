"""Posts, authors and topics that refer to each other, for tests of ``include``."""

from __future__ import annotations

from typing import Any

from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field

TYPES = {
    "posts": (
        Field("body", "Body", "text"),
        Field("price", "Price", "number"),
        Field("layout", "Layout", "section"),
        Field("author", "Author", "reference", to=("authors",)),
        Field("topics", "Topics", "reference", to=("topics",), multiple=True),
        Field("related", "Related", "reference", multiple=True),
        Field("cover", "Cover", "media"),
        Field("gallery", "Gallery", "media", multiple=True),
        Field("faq", "FAQ", "repeater", fields=(Field("author", "A", "reference"),)),
    ),
    "authors": (
        Field("bio", "Bio", "text"),
        Field("friend", "Friend", "reference", to=("authors",)),
        Field("photo", "Photo", "media"),
    ),
    "topics": (
        Field("part_of", "Part of", "reference", to=("topics",)),
        Field("author", "Author", "text"),
    ),
}


async def write_types(builder: ContentBuilder) -> None:
    for slug, fields in TYPES.items():
        await builder.content_type(*fields, slug=slug)


async def put_media(
    builder: ContentBuilder, *names: str, url: str = "https://example.com/x.png"
) -> None:
    for name in names:
        await builder.execute(
            c.PutMedia,
            workspace=builder.scope.workspace,
            media_id=name,
            url=url,
            name=f"{name}.png",
            content_type="image/png",
        )


def file(name: str, url: str = "https://example.com/x.png") -> dict[str, str]:
    """The file as in responses."""
    return {"id": name, "url": url, "name": f"{name}.png", "contentType": "image/png"}


async def entry(
    builder: ContentBuilder,
    slug: str,
    type_slug: str = "posts",
    status: str = "published",
    **fields: Any,
) -> str:
    return await builder.entry(slug, type_slug=type_slug, status=status, fields=raws(**fields))
