"""The dashboard page of recent changes."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.integration.api.dashboard import signed_in
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import ContentBuilder

pytestmark = pytest.mark.asyncio(loop_scope="module")

_ROW = re.compile(
    r'data-label="Change" class="bare">(\w+)<.*?data-label="What"[^>]*>\s*(.*?)\s*</td>', re.S
)
_NEXT = re.compile(r'<a class="button small" href="([^"]+)" rel="next">')


async def test_the_newest_changes_are_listed_with_links(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    kept = await acme.entry("kept")
    await acme.delete(await acme.entry("lost"))
    await acme.update(kept, status="published", title="A <b>title</b>")
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get("/dashboard/activity")).text
    rows = _ROW.findall(page)
    assert [action for action, _ in rows] == [
        "Published",
        "Deleted",
        "Created",
        "Created",
        "Defined",
    ]
    title = "A &lt;b&gt;title&lt;/b&gt;"
    link = f'<a href="/dashboard/entries/{kept}" lang="en-US" title="{title}">{title}</a>'
    assert rows[0][1] == rows[3][1] == link
    assert rows[1][1] == rows[2][1] == '<code class="slug" title="lost">lost</code>'
    assert rows[4][1] == "Content type"
    assert page.count('data-label="By" title="operator test">operator test<') == 5


async def test_older_changes_are_on_further_pages(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type()
    for number in range(60):
        await acme.entry(f"entry-{number}")
    await server.caught_up()
    async with signed_in(server) as visitor:
        address, found = "/dashboard/activity", list[str]()
        for size in (25, 25, 11):
            page = (await visitor.get(address)).text
            rows = re.findall(r">Entry-(\d+)</a>|(Content type)\s*</td>", page)
            assert len(rows) == size
            found += [number or "type" for number, _ in rows]
            address = unescape(_NEXT.findall(page)[0]) if size == 25 else ""
        assert found == [*map(str, reversed(range(60))), "type"]
        assert not _NEXT.findall(page)
        assert (await visitor.get("/dashboard/activity?before=x")).status == 400


async def test_activity_is_of_one_workspace_and_environment(
    server: Server, acme: ContentBuilder
) -> None:
    globex = await server.workspace("globex")
    await globex.content_type(slug="theirs")
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get("/dashboard/activity")).text
        assert "Nothing has changed yet" in page
        assert "theirs" not in page
