"""`contentlog changes --follow`: its output while other processes write."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from api.changes.bodies import Change, ChangeView
from deploy.commands import changes
from deploy.databases import Databases
from tests.integration.live_projector import projecting
from tests.integration.projector.sample_log import SCOPE, ContentBuilder
from write_side.repository import Repository


@pytest.fixture
def found(database_url: str) -> Databases:
    return Databases(database_url, database_url)


@pytest.fixture
async def view(found: Databases) -> ChangeView:
    return await changes._view(found, SCOPE, None)


@pytest.fixture
def following(found: Databases, view: ChangeView) -> AsyncIterator[Change]:
    return changes._changes(found, view, "", follow=True)


@pytest.fixture
async def posts(repository: Repository) -> ContentBuilder:
    builder = ContentBuilder(repository)
    await builder.magazine()
    return builder


async def test_new_changes_are_printed_as_they_come(
    posts: ContentBuilder, following: AsyncIterator[Change], database_url: str
) -> None:
    async with projecting(database_url):
        lines = [changes._line(await anext(following))]
        for slug in ("one", "two"):
            await posts.entry(slug, language="sv-SE")
            lines.append(changes._line(await anext(following)))
    assert [line[25:] for line in lines] == [
        "contentType.changed  posts",
        "entry.created  posts/one  sv-SE  version 1",
        "entry.created  posts/two  sv-SE  version 1",
    ]


async def test_the_token_of_an_empty_feed_is_its_beginning(
    posts: ContentBuilder,
    following: AsyncIterator[Change],
    found: Databases,
    view: ChangeView,
    database_url: str,
) -> None:
    del posts
    async with projecting(database_url):
        first = await anext(following)
        after = changes._changes(found, view, view.token(None), follow=False)
        assert [one async for one in after] == [first]
