"""The content that rows read, the workspace that they write to, and their API keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.integration.api.server import BOTH, Server
from tests.integration.projector.sample_log import STAGES, ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field, Option
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.refusals import InvalidDefinition

KEY = "a-key-of-the-magazine"  # has all permissions
VIEWER = "a-key-that-may-only-look"
EDITOR = "a-key-that-may-only-write"
WEB_PAGE = "a-key-that-reads-what-is-published"
REHEARSER = "a-key-that-works-in-staging-only"
EXPIRED = "a-key-that-has-expired"
OPERATOR = "a-key-that-shows-the-service"
REVOKED = "a-key-that-was-revoked"
DESK = "a-key-of-the-desk"
STRANGER = "a-key-of-another-workspace"
NO_STAGING = "a-key-without-staging-in-its-plan"
PRODUCTION_ONLY = "a-key-of-that-workspace-that-works-in-production-only"
NOT_SET_UP = "a-key-whose-staging-is-not-set-up"
FULL = "a-key-of-a-workspace-that-is-full"

ADA = "018f0000-0000-7000-8000-00000000000a"
BOB = "018f0000-0000-7000-8000-00000000000b"  # deleted
HARBOUR = "018f0000-0000-7000-8000-00000000000c"
HARBOUR_IN_FRENCH = "018f0000-0000-7000-8000-00000000000d"
SECRET = "018f0000-0000-7000-8000-00000000000e"  # belongs to the stranger's workspace
REHEARSAL = "018f0000-0000-7000-8000-00000000000f"  # in staging
NOBODY = "018f0000-0000-7000-8000-00000000dead"
AT_DESK = "018f0000-0000-7000-8000-0000000000{}"

NOTES = 230
"""More than a list skips row by row (``read_side.paging.DEEP``)."""

AUTHORS = (Field("bio", "Bio", "text"),)
NOTE = (Field("text", "Text", "text"),)
CATEGORIES = (Option("news", "News"), Option("howto", "How-to"))
POSTS = (
    Field("intro", "Intro", "section"),
    Field("body", "Body", "rich_text", required=True, searchable=True),
    Field("lead", "Lead", "text", indexed=True),
    Field("views", "Views", "number", indexed=True),
    Field("featured", "Featured", "boolean"),
    Field("goes_live", "Goes live", "datetime"),
    Field("campaign", "Campaign", "datetime", range=True, indexed=True),
    Field("category", "Category", "select", options=CATEGORIES),
    Field("tags", "Tags", "select", options=CATEGORIES, multiple=True, indexed=True),
    Field("layout", "Layout", "section"),
    Field("author", "Author", "reference", to=("authors",)),
    Field("related", "Related", "reference", multiple=True, indexed=True),
    Field("cover", "Cover", "media"),
    Field("gallery", "Gallery", "media", multiple=True),
    Field("meta", "Meta", "json"),
    Field(
        "faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"), Field("votes", "V", "number"))
    ),
)
NOTHING: dict[str, Any] = {
    "body": None,
    "lead": None,
    "views": None,
    "featured": None,
    "goes_live": None,
    "campaign": None,
    "category": None,
    "tags": None,
    "author": None,
    "related": [],
    "cover": None,
    "gallery": None,
    "meta": None,
    "faq": [],
}
"""The fields of an entry without saved values, in the order of its type."""
FAQ = [{"q": "Why?", "votes": 3}, {"q": "How?", "votes": 5}]
SAVED: dict[str, Any] = {
    "body": "The tide is out.",
    "lead": "Low water",
    "views": 7,
    "featured": True,
    "goes_live": "2026-01-31T09:30:00Z",
    "campaign": {"from": "2026-01-01", "to": "2026-02-01"},
    "category": "news",
    "tags": ["howto", "news"],
    "author": ADA,
    "related": [ADA],
    "cover": "hero",
    "gallery": ["hero", "map"],
    "meta": {"b": [1, None], "a": {}},
    "faq": FAQ,
}
"""The fields of «harbour», in the order of its type."""
FRENCH = Translation(
    "Le port",
    raws(body="La marée est basse.", lead="", faq=[{"q": "Pourquoi ?"}, {"q": ""}]),
)
GERMAN = Translation(None, raws(lead="Niedrigwasser", faq=[{"q": "Warum?"}]))
SPANISH = Translation("El puerto", raws(body="La marea está baja.", lead=None))


async def write_magazine(server: Server) -> None:
    """Writes everything that rows rely on, and waits until it can be read."""
    expiry = await _write_content(server)
    await _write_staging(server)
    await _write_desk(server)
    await _write_others(server)
    await server.caught_up()
    await asyncio.sleep(max(0.0, (expiry - datetime.now(UTC)).total_seconds()))


async def workspace(server: Server, slug: str, key: str, **plan: Any) -> ContentBuilder:
    builder = ContentBuilder(server.repository, Scope(slug, "production"))
    await builder.workspace(**plan)
    await server.key(key, slug)
    return builder


async def _write_content(server: Server) -> datetime:
    """Creates these entries, newest first: «port», «plain», «gone», «harbour», «untouched», «ada»,
    the notes. Returns the expiry of EXPIRED."""
    builder = await workspace(server, "magazine", KEY, staging=True)
    await server.key(VIEWER, "magazine", BOTH[:1])
    await server.key(EDITOR, "magazine", BOTH[1:])
    await server.key(OPERATOR, "magazine", ("service.view",))
    await server.key(WEB_PAGE, "magazine", ("content.published",))
    await server.key(REHEARSER, "magazine", environment="staging")
    expiry = await _issue_brief_key(server)
    await server.key(REVOKED, "magazine")
    await builder.execute(c.RevokeKey, workspace="magazine", name=REVOKED)
    await types(builder)
    await builder.content_type(*NOTE, slug="notes")
    await builder.content_type(*NOTE, slug="empty")
    await _write_notes(builder)
    await builder.entry("ada", type_slug="authors", entry_id=ADA)
    await builder.entry("untouched")
    await builder.entry(
        "harbour",
        entry_id=HARBOUR,
        status="published",
        fields=raws(**SAVED),
        translations={"fr-FR": FRENCH, "de-DE": GERMAN, "es-ES": SPANISH},
    )
    await builder.entry("gone", status="archived")
    await builder.entry("plain", status="published", fields=raws(body="Plain."))
    await builder.entry(
        "harbour",
        entry_id=HARBOUR_IN_FRENCH,
        language="fr-FR",
        status="published",
        fields=raws(body="La mer."),
    )
    return expiry


async def _issue_brief_key(server: Server) -> datetime:
    """Issues EXPIRED, and returns its expiry: soon, or later if this machine is so slow that the
    expiry has passed before the key is issued."""
    for seconds in (0.1, 5):
        expiry = datetime.now(UTC) + timedelta(seconds=seconds)
        with suppress(InvalidDefinition):
            await server.key(EXPIRED, "magazine", expires_at=expiry)
            return expiry
    raise AssertionError("the key was not issued within 5 s")


async def types(builder: ContentBuilder, media: Iterable[str] = ("hero", "map")) -> None:
    """Creates the media files and two content types: authors, and posts with a workflow."""
    for file in media:
        await builder.execute(
            c.PutMedia,
            workspace=builder.scope.workspace,
            media_id=file,
            url=f"https://cdn.example.com/{file}.png",
            name=f"{file}.png",
            content_type="image/png",
        )
    await builder.content_type(*AUTHORS, slug="authors")
    await builder.content_type(*POSTS, stages=STAGES)


async def _write_notes(builder: ContentBuilder) -> None:
    """Writes all notes in one append, so that many have the same millisecond."""
    notes = (
        {"title": f"Note {number}", "slug": f"note-{number}", "status": "published"}
        for number in range(NOTES)
    )
    await builder.imports(notes, type_slug="notes", import_id="notes", file_name="notes.csv")


async def _write_staging(server: Server) -> None:
    staging = ContentBuilder(server.repository, Scope("magazine", "staging"))
    await staging.execute(c.AddEnvironment, scope=staging.scope)
    await staging.content_type(*POSTS)
    await staging.entry(
        "rehearsal", entry_id=REHEARSAL, status="published", fields=raws(body="Again.")
    )


async def _write_desk(server: Server) -> None:
    builder = await workspace(server, "desk", DESK)
    await types(builder)
    await builder.entry("ada", type_slug="authors", entry_id=AT_DESK.format("aa"))
    await builder.entry("bob", type_slug="authors", entry_id=BOB)
    await builder.delete(BOB)
    await builder.entry("taken", entry_id=AT_DESK.format("bb"))


async def _write_others(server: Server) -> None:
    stranger = await workspace(server, "stranger", STRANGER)
    await stranger.content_type(slug="private")
    await stranger.content_type(slug="posts")
    await stranger.entry("secret", entry_id=SECRET, status="published")
    await workspace(server, "no-staging", NO_STAGING)
    await server.key(PRODUCTION_ONLY, "no-staging", environment="production")
    await workspace(server, "not-set-up", NOT_SET_UP, staging=True)
    full = await workspace(server, "full", FULL, entries=1)
    await full.content_type()
    await full.entry("the-only-one")
