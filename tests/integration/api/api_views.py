"""Compares what REST and GraphQL return for one environment with the naive model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from api.rest.wire import timestamp
from tests.integration.api.api_clients import Doors
from tests.integration.api.server import Answer
from tests.integration.projector.command_strategies import LANGUAGES, STATUSES, TYPES
from tests.integration.projector.reference_model import Place
from tests.integration.projector.reference_values import No

ENTRY = """
fragment Entry on ContentEntry {
  id title slug status stage { id } language locale publishedAt createdAt updatedAt
  contentType { name slug } fields version history(limit: 100) { version }
}"""
GONE = "00000000-0000-7000-8000-00000000dead"
Said = dict[str, Any]


class Named(Struct):
    name: str = ""
    slug: str = ""
    id: str = ""


class Version(Struct):
    version: int


class Entry(Struct, rename="camel"):
    """An entry with its fields as raw JSON. Members that a list omits are None."""

    id: str
    title: str
    slug: str
    status: str
    stage: Named | None
    locale: str
    published_at: str | None
    created_at: str
    updated_at: str
    fields: Raw
    language: str | None = None
    content_type: Named | None = None
    version: int | None = None
    history: list[Version] | None = None

    def words(self) -> Said:
        of = self.content_type
        return {
            "id": self.id,
            "title": self.title,
            "slug": self.slug,
            "status": self.status,
            "stage": self.stage and self.stage.id,
            "language": self.language,
            "published": self.published_at,
            "created": self.created_at,
            "updated": self.updated_at,
            "type": (of.name, of.slug) if of else (None, None),
            "fields": bytes(self.fields).decode(),
        }


class Pagination(Struct):
    total: int


class Page(Struct):
    data: list[Entry]
    pagination: Pagination


class One(Struct):
    data: Entry


class Pages(Struct):
    data: dict[str, Page]


class Ones(Struct):
    data: dict[str, Entry | None]


class Seeing:
    """Compares every read of one environment. ``limit``: page size; ``locale``: of the returned
    texts; ``moments``: number of past moments to read."""

    def __init__(self, doors: Doors, place: Place, limit: int, locale: str, moments: int) -> None:
        self._doors = doors
        self._naive = doors.naive
        self.place = place
        self._limit = limit
        self.locale = locale
        self._moments = moments

    async def everywhere(self) -> None:
        if self._doors.is_closed(self.place):
            assert (await self._get("/v1/content")).status == 402
            return
        await self._lists()
        await self._list_across_types()
        await self._content_entries()
        await self._singles()
        await self._by_id()
        await self._as_of()

    async def _get(self, path: str, **query: object) -> Answer:
        return await self._doors.get(self.place, path, locale=self.locale, **query)

    # Lists

    async def _lists(self) -> None:
        for of, status, language in itertools.product(TYPES, STATUSES, LANGUAGES):
            said = self._says(self._naive.list_of_type, of, status, language, self.locale)
            answer = await self._get(
                f"/v1/content/{of}", status=status, language=language, limit=self._limit
            )
            self._check_page(answer, said)

    async def _list_across_types(self) -> None:
        for of in (None, *TYPES):
            said = self._says(self._naive.list_across_types, of, self.locale)
            where = {} if of is None else {"type": of}
            answer = await self._get("/v1/content", limit=self._limit, offset=1, **where)
            self._check_page(answer, said, offset=1, without="language")

    def _check_page(
        self, answer: Answer, said: list[Said] | None, offset: int = 0, without: str = ""
    ) -> None:
        if said is None:
            assert answer.status == 404
            return
        assert answer.status == 200, answer.text
        page = msgspec.json.decode(answer.text, type=Page)
        self._compare(page, said, offset, without)

    def _compare(self, page: Page, said: list[Said], offset: int, without: str = "") -> None:
        due = said[offset : offset + self._limit]
        left_out = {without: None} if without else {}
        assert [one.words() for one in page.data] == [{**as_shown(one), **left_out} for one in due]
        assert page.pagination.total == len(said)

    async def _content_entries(self) -> None:
        """Sends every combination of filters in one document. A null filter selects everything."""
        asked = list(
            itertools.product(
                (None, *self._naive.types.get(self.place, ())),
                (None, *STATUSES),
                (None, *LANGUAGES),
            )
        )
        document = "".join(
            f"a{n}: contentEntries({_arguments(type=of, language=language)}"
            f" status: {status or 'null'} locale: {_text(self.locale)}"
            f" limit: {self._limit} offset: {n % 2})"
            " { data { ...Entry } pagination { total } }"
            for n, (of, status, language) in enumerate(asked)
        )
        answer = await self._ask(document, ENTRY.replace("history(limit: 100) { version }", ""))
        pages = msgspec.json.decode(answer.text, type=Pages).data
        for n, (of, status, language) in enumerate(asked):
            said = [
                one
                for one in self._naive.list_across_types(self.place, of, self.locale)
                if status in (None, one["status"]) and language in (None, one["language"])
            ]
            self._compare(pages[f"a{n}"], said, n % 2)

    # Single entries

    async def _singles(self) -> None:
        for of, slug, language in sorted(self._slugs()):
            said = self._says(self._naive.one, of, slug, language, self.locale)
            answer = await self._get(f"/v1/content/{of}/{_path(slug)}", language=language)
            self._check_one(answer, said)

    def _check_one(self, answer: Answer, said: Said | None) -> None:
        if said is None:
            assert answer.status == 404
            return
        assert answer.status == 200, answer.text
        assert msgspec.json.decode(answer.text, type=One).data.words() == as_shown(said)

    def _slugs(self) -> Iterator[tuple[str, str, str]]:
        """The type, slug and language of every entry that ever existed here."""
        for place, of, slug, language in self._naive.past.slugs():
            if place == self.place:
                yield of, slug, language

    async def _by_id(self) -> None:
        """Reads entries and their histories by id. Entries of other workspaces and environments are
        null."""
        ids = [entry["id"] for entry in self._naive.entries][:40]
        document = "".join(
            f"a{n}: contentEntryById(id: {_text(one)} locale: {_text(self.locale)}) {{ ...Entry }}"
            for n, one in enumerate([*ids, GONE])
        )
        answer = await self._ask(document, ENTRY)
        found = msgspec.json.decode(answer.text, type=Ones).data
        here = {
            one["id"]: one for one in self._naive.list_across_types(self.place, None, self.locale)
        }
        for n, one in enumerate([*ids, GONE]):
            entry = found[f"a{n}"]
            if entry is None or one not in here:
                assert (entry, here.get(one)) == (None, None)
                continue
            assert entry.words() == as_shown(here[one])
            version = self._naive.entry(self.place, one)["version"]
            assert entry.history is not None
            assert [change.version for change in entry.history] == list(range(version, 0, -1))
            assert entry.version == version

    async def _as_of(self) -> None:
        """Reads every slug that ever existed, at past moments, over REST and GraphQL."""
        times = self._naive.past.times()
        for at in times[:: max(1, len(times) // self._moments)]:
            for of, slug, language in sorted(self._slugs()):
                where = (of, slug, language, self.locale)
                said = self._says_of(at, *where)
                answer = await self._get(
                    f"/v1/content/{of}/{_path(slug)}", language=language, asOf=timestamp(at)
                )
                self._check_one(answer, said)
            await self._as_of_over_graphql(at, sorted(self._slugs()))

    async def _as_of_over_graphql(self, at: datetime, slugs: list[tuple[str, str, str]]) -> None:
        # An entry whose type did not exist at that time would fail the whole document.
        known = [one for one in slugs if self._had_type(at, one[0])][:40]
        if not known:
            return
        document = "".join(
            f"a{n}: contentEntry({_arguments(type=of, slug=slug, language=language)}"
            f" locale: {_text(self.locale)} asOf: {_text(timestamp(at))}) {{ ...Entry }}"
            for n, (of, slug, language) in enumerate(known)
        )
        answer = await self._ask(document, ENTRY)
        found = msgspec.json.decode(answer.text, type=Ones).data
        for n, one in enumerate(known):
            entry, said = found[f"a{n}"], self._says_of(at, *one, self.locale)
            if entry is None or said is None:
                assert (entry, said) == (None, None)
                continue
            assert entry.words() == as_shown(said)
            assert entry.version is not None
            assert entry.history is not None
            assert [change.version for change in entry.history] == list(range(entry.version, 0, -1))

    async def _ask(self, document: str, fragment: str) -> Answer:
        answer = await self._doors.ask(self.place, f"{{ {document} }} {fragment}")
        assert answer.status == 200, answer.text
        assert "errors" not in answer.body, answer.text
        return answer

    def _says(self, ask: Callable[..., Any], *where: object) -> Any:
        try:
            return ask(self.place, *where)
        except No:
            return None

    def _had_type(self, at: datetime, slug: str) -> bool:
        where = {"place": self.place, "slug": slug}
        return self._says(lambda _: self._naive.past.had(at, what="type", **where)) is not None

    def _says_of(self, at: datetime, *where: str) -> Any:
        return self._says(lambda place: self._naive.one_as_of(at, place, *where))


def as_shown(said: Said) -> Said:
    """Converts times and values to their form in responses."""
    return {
        **said,
        "published": said["published"] and timestamp(said["published"]),
        "created": timestamp(said["created"]),
        "updated": timestamp(said["updated"]),
        "fields": msgspec.json.encode(dict(said["fields"])).decode(),
    }


def _arguments(**given: str | None) -> str:
    return " ".join(f"{name}: {_text(value)}" for name, value in given.items())


def _text(value: str | None) -> str:
    """A GraphQL literal, which for strings and null is the same as JSON."""
    return msgspec.json.encode(value).decode()


def _path(slug: str) -> str:
    return quote(slug, safe="")
