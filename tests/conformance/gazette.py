"""A workspace with a history: its entries as they were at one moment, and as they are now."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from api.rest.wire import timestamp
from tests.conformance.magazine import workspace
from tests.integration.api.server import Server
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.domain.definition import Field
from write_side.domain.events import Translation

GAZETTE = "a-key-of-the-gazette"
GAZETTE_READER = "a-key-for-what-the-gazette-publishes"
FRENCH = "fr-FR"
ENTRY_ID = "018f0000-0000-7000-8000-0000000001{}"
ADA, BOB, CAT = (ENTRY_ID.format(f"a{n}") for n in range(3))
BODY = Field("body", "Body", "text", searchable=True)
AUTHOR = Field("author", "Author", "reference", to=("authors",))
AUTHORS = (Field("bio", "Bio", "text"),)


class ExpectedEntry(Struct, frozen=True):
    """An entry. ``french`` is the title of its translation. ``contains_tide``: its original text
    contains "tide"."""

    id: str
    title: str
    slug: str
    status: str = "published"
    language: str = "en-US"
    type_slug: str = "posts"
    environment: str = "production"
    author: str | None = None
    french: str | None = None
    contains_tide: bool = False


class ContentSnapshot(Struct, frozen=True):
    """The entries at a moment. ``entries`` are newest first; ``fields`` are the slugs by content
    type."""

    entries: tuple[ExpectedEntry, ...]
    fields: dict[str, tuple[str, ...]]

    def entry(self, entry_id: str) -> ExpectedEntry:
        return next(one for one in self.entries if one.id == entry_id)


def _post(number: int, title: str, **more: Any) -> ExpectedEntry:
    return ExpectedEntry(
        ENTRY_ID.format(f"b{number}"), title, more.pop("slug", title.lower()), **more
    )


def _author(entry_id: str, title: str, status: str) -> ExpectedEntry:
    return ExpectedEntry(entry_id, title, title.lower(), status, type_slug="authors")


REHEARSAL = _post(0, "Rehearsal", slug="harbour", environment="staging")
_THEN = (
    _post(6, "Hotel", language=FRENCH, author=ADA),
    _post(5, "Harbour", language=FRENCH, author=CAT),
    _post(4, "Plain", author=BOB),
    _post(3, "Gone", status="archived", author=BOB),
    _post(2, "Harbour", author=ADA, french="Le port", contains_tide=True),
    _post(1, "Hidden", status="draft", author=ADA, contains_tide=True),
    _author(CAT, "Cat", "published"),
    _author(BOB, "Bob", "draft"),
    _author(ADA, "Ada", "published"),
    REHEARSAL,
)
_hotel, _french, _, _gone, _harbour, _hidden, _cat, _bob, _ada, _ = _THEN
_NOW = (
    _post(7, "Tide table", slug="table", author=ADA, contains_tide=True),
    _hotel,
    replace(_french, status="draft"),
    replace(_gone, status="published"),
    replace(_harbour, title="Haven", author=CAT),
    _hidden,
    replace(_cat, status="archived"),
    replace(_bob, status="published"),
    replace(_ada, title="Ada L."),
    REHEARSAL,
)
THEN = ContentSnapshot(_THEN, {"posts": ("body", "author"), "authors": ("bio",)})
NOW = ContentSnapshot(_NOW, {"posts": ("lead", "author", "body"), "authors": ()})


class AsOfTimes(Struct, frozen=True):
    """Values of ``asOf``: a moment when the entries were as in THEN, and one when they are as in
    NOW."""

    then: str
    now: str


async def write_gazette(server: Server) -> AsOfTimes:
    """Writes the entries of both moments. Between the two, entries are created, changed, published,
    unpublished and deleted, and content types are revised."""
    builder = await workspace(server, "gazette", GAZETTE, staging=True)
    await server.key(GAZETTE_READER, "gazette", ("content.published",))
    staging = await builder.staging()
    for each in (builder, staging):
        await each.content_type(*AUTHORS, slug="authors")
        await each.content_type(BODY, AUTHOR)
    await _create(staging, REHEARSAL)
    for one in reversed(_THEN[:-1]):
        await _create(builder, one)
    then = await _time(server)
    await builder.update(_french.id, status="draft")
    await builder.delete(_THEN[2].id)
    await builder.update(_gone.id, status="published")
    await builder.update(_harbour.id, title="Haven", fields=raws(author=CAT))
    await builder.update(CAT, status="archived")
    await builder.update(BOB, status="published")
    await builder.update(ADA, title="Ada L.")
    await builder.revise_type(Field("lead", "Lead", "text"), AUTHOR, BODY)
    await builder.revise_type(Field("layout", "Layout", "section"), slug="authors")
    await _create(builder, _NOW[0])
    await server.caught_up()
    return AsOfTimes(then, await _time(server))


async def _create(builder: ContentBuilder, one: ExpectedEntry) -> None:
    french = {FRENCH: Translation(one.french, raws(body="La mer."))} if one.french else {}
    fields = {"body": "The tide is out." if one.contains_tide else "Sand."}
    if one.author is not None:
        fields["author"] = one.author
    await builder.entry(
        one.slug,
        type_slug=one.type_slug,
        entry_id=one.id,
        title=one.title,
        status=one.status,
        language=one.language,
        fields=raws(**fields),
        translations=french,
    )


async def _time(server: Server) -> str:
    """Returns a time after all events so far and before all later ones."""
    recorder = server.repository.recorder
    time = await recorder.time()

    async def has_passed() -> bool:
        return timestamp(await recorder.time()) > timestamp(time)

    await until(has_passed)
    return timestamp(time)
