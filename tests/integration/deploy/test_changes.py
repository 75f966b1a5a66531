"""`contentlog changes --follow`: what is printed while others write."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from api.rest.change_bodies import Change
from deploy.commands import changes
from deploy.databases import Databases
from tests.integration.live_projector import projecting
from tests.integration.projector.sample_log import SCOPE, Given
from write_side.repository import Repository


@pytest.fixture
async def following(database_url: str) -> AsyncIterator[AsyncIterator[Change]]:
    found = Databases(database_url, database_url)
    async with changes._view(found, SCOPE, None) as view:
        yield changes._changes(found, view, "", follow=True)


@pytest.fixture
async def posts(repository: Repository) -> Given:
    given = Given(repository)
    await given.magazine()
    return given


async def test_new_changes_are_printed_as_they_come(
    posts: Given, following: AsyncIterator[Change], database_url: str
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
