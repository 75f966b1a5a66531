"""Our readings: each parameter of a list alone, and with each other one, against what the list has
in memory."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest
from msgspec import Struct

from tests.conformance.cases import get
from tests.conformance.client import Asker
from tests.conformance.magazine import ADA

pytestmark = pytest.mark.asyncio(loop_scope="package")

POSTS = "/v1/content/posts"
PARAMETERS = {
    "filter": "filter[slug]=harbour",
    "sort": "sort=slug",
    "q": "q=tide",
    "select": "select=slug,title",
    "include": "include=author",
    "cursor": "cursor=first",
    "total": "total=none",
    "asOf": "asOf={now}",
    "status": "status=archived",
    "language": "language=fr-FR",
    "locale": "locale=fr-FR",
    "environment": "environment=staging",
    "limit": "limit=1",
    "offset": "offset=1",
}
ALONE_AND_IN_PAIRS = list(chain(combinations(PARAMETERS, 1), combinations(PARAMETERS, 2)))
REFUSED = [{"q", "asOf"}, {"cursor", "offset"}]


class Post(Struct, frozen=True):
    """``words``: by locale."""

    title: str
    words: dict[str, str]
    french_title: str | None = None
    status: str = "published"
    language: str = "en-US"
    environment: str = "production"
    author: str | None = None

    @property
    def slug(self) -> str:
        return self.title.lower()


TIDE = {"en-US": "tide"}
NEWEST_FIRST = (
    Post("Harbour", {}, language="fr-FR"),
    Post("Plain", {}),
    Post("Gone", {}, status="archived"),
    Post("Harbour", TIDE, french_title="Le port", author=ADA),
    Post("Rehearsal", {}, environment="staging"),
)


def expected(names: set[str]) -> list[Post]:
    """All entries of the list, in its order."""

    def chosen(name: str, default: str) -> str:
        return PARAMETERS[name].partition("=")[2] if name in names else default

    found = [
        one
        for one in NEWEST_FIRST
        if one.status == chosen("status", "published")
        if one.language == chosen("language", "en-US")
        if one.environment == chosen("environment", "production")
        if "filter" not in names or one.slug == "harbour"
        if "q" not in names or "tide" in one.words.get(chosen("locale", "en-US"), "")
    ]
    return sorted(found, key=lambda one: one.slug) if "sort" in names else found


@pytest.mark.parametrize("names", ALONE_AND_IN_PAIRS, ids="+".join)
async def test_filters_17_each_parameter_combines(names: tuple[str, ...], asker: Asker) -> None:
    """The response has an ETag, and does not change for a request with a position."""
    last = await asker.ask(get(f"{POSTS}/rehearsal?environment=staging"))
    query = "&".join(PARAMETERS[name] for name in names).format(now=last.data["updatedAt"])
    answer = await asker.ask(get(f"{POSTS}?{query}"))
    if set(names) in REFUSED:
        assert answer.status == 400, answer.text
        return
    assert answer.status == 200, answer.text
    check(set(names), answer.body)
    again = {
        "If-None-Match": answer.headers["ETag"],
        "X-Content-Position": last.headers["X-Content-Position"],
    }
    assert (await asker.ask(get(f"{POSTS}?{query}", headers=again))).status == 304


def check(names: set[str], body: dict[str, Any]) -> None:
    whole = expected(names)
    limit, offset = 1 if "limit" in names else 10, 1 if "offset" in names else 0
    page = whole[offset:][:limit]
    assert [one["slug"] for one in body["data"]] == [one.slug for one in page]
    assert [one["title"] for one in body["data"]] == [
        one.french_title if "locale" in names and one.french_title else one.title for one in page
    ]
    shapes = {tuple(one) for one in body["data"]}
    assert all((shape == ("id", "title", "slug")) == ("select" in names) for shape in shapes)
    pagination = dict(body["pagination"])
    following = pagination.pop("next", None)
    assert bool(following) == ("cursor" in names and len(whole) > limit)
    shown = {} if "cursor" in names else {"offset": offset}
    total = None if "total" in names else len(whole)
    assert pagination == {"limit": limit, **shown, "total": total}
    assert ("includes" in body) == ("include" in names)
    if "include" in names:
        assert set(body["includes"]["entries"]) == {one.author for one in page if one.author}
