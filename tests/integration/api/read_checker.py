"""Compares what REST and GraphQL return for one environment with the reference model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from api.rest.wire import timestamp
from tests.integration.api.api_writer import ApiWriter
from tests.integration.api.server import Answer
from tests.integration.projector.command_strategies import LANGUAGES, STATUSES, TYPES
from tests.integration.projector.reference_model import Place
from tests.integration.projector.reference_values import ExpectedRefusal

ENTRY = """
fragment Entry on ContentEntry {
  id title slug status stage { id } language locale publishedAt createdAt updatedAt
  contentType { name slug } fields version history(limit: 100) { version }
}"""
GONE = "00000000-0000-7000-8000-00000000dead"
Expected = dict[str, Any]


class NamedObject(Struct):
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
    stage: NamedObject | None
    locale: str
    published_at: str | None
    created_at: str
    updated_at: str
    fields: Raw
    language: str | None = None
    content_type: NamedObject | None = None
    version: int | None = None
    history: list[Version] | None = None

    def as_dict(self) -> Expected:
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


class ListResponse(Struct):
    data: list[Entry]
    pagination: Pagination


class EntryResponse(Struct):
    data: Entry


class GraphQLLists(Struct):
    data: dict[str, ListResponse]


class GraphQLEntries(Struct):
    data: dict[str, Entry | None]


class ReadChecker:
    """Compares every read of one environment. ``limit``: page size; ``locale``: of the returned
    texts; ``moments``: number of past moments to read."""

    def __init__(
        self, writer: ApiWriter, place: Place, limit: int, locale: str, moments: int
    ) -> None:
        self._writer = writer
        self._reference = writer.reference
        self.place = place
        self._limit = limit
        self.locale = locale
        self._moments = moments

    async def check_all_reads(self) -> None:
        if self._writer.is_excluded_by_plan(self.place):
            assert (await self._get("/v1/content")).status == 402
            return
        await self._check_lists_of_type()
        await self._check_lists_across_types()
        await self._check_graphql_lists()
        await self._check_single_entries()
        await self._check_entries_by_id()
        await self._check_past_entries()

    async def _get(self, path: str, **query: object) -> Answer:
        return await self._writer.get(self.place, path, locale=self.locale, **query)

    # Lists

    async def _check_lists_of_type(self) -> None:
        for of, status, language in itertools.product(TYPES, STATUSES, LANGUAGES):
            expected = self._expected(
                self._reference.list_of_type, of, status, language, self.locale
            )
            answer = await self._get(
                f"/v1/content/{of}", status=status, language=language, limit=self._limit
            )
            self._check_page(answer, expected)

    async def _check_lists_across_types(self) -> None:
        for of in (None, *TYPES):
            expected = self._expected(self._reference.list_across_types, of, self.locale)
            where = {} if of is None else {"type": of}
            answer = await self._get("/v1/content", limit=self._limit, offset=1, **where)
            self._check_page(answer, expected, offset=1, without="language")

    def _check_page(
        self, answer: Answer, expected: list[Expected] | None, offset: int = 0, without: str = ""
    ) -> None:
        if expected is None:
            assert answer.status == 404
            return
        assert answer.status == 200, answer.text
        page = msgspec.json.decode(answer.text, type=ListResponse)
        self._compare(page, expected, offset, without)

    def _compare(
        self, page: ListResponse, expected: list[Expected], offset: int, without: str = ""
    ) -> None:
        expected_page = expected[offset : offset + self._limit]
        left_out = {without: None} if without else {}
        assert [one.as_dict() for one in page.data] == [
            {**as_served(one), **left_out} for one in expected_page
        ]
        assert page.pagination.total == len(expected)

    async def _check_graphql_lists(self) -> None:
        """Sends every combination of filters in one document. A null filter selects everything."""
        ids = list(
            itertools.product(
                (None, *self._reference.types.get(self.place, ())),
                (None, *STATUSES),
                (None, *LANGUAGES),
            )
        )
        document = "".join(
            f"a{n}: contentEntries({_arguments(type=of, language=language)}"
            f" status: {status or 'null'} locale: {_text(self.locale)}"
            f" limit: {self._limit} offset: {n % 2})"
            " { data { ...Entry } pagination { total } }"
            for n, (of, status, language) in enumerate(ids)
        )
        answer = await self._ask(document, ENTRY.replace("history(limit: 100) { version }", ""))
        pages = msgspec.json.decode(answer.text, type=GraphQLLists).data
        for n, (of, status, language) in enumerate(ids):
            expected = [
                one
                for one in self._reference.list_across_types(self.place, of, self.locale)
                if status in (None, one["status"]) and language in (None, one["language"])
            ]
            self._compare(pages[f"a{n}"], expected, n % 2)

    # Single entries

    async def _check_single_entries(self) -> None:
        for of, slug, language in sorted(self._slugs()):
            expected = self._expected(self._reference.one, of, slug, language, self.locale)
            answer = await self._get(f"/v1/content/{of}/{_path(slug)}", language=language)
            self._check_one(answer, expected)

    def _check_one(self, answer: Answer, expected: Expected | None) -> None:
        if expected is None:
            assert answer.status == 404
            return
        assert answer.status == 200, answer.text
        assert msgspec.json.decode(answer.text, type=EntryResponse).data.as_dict() == as_served(
            expected
        )

    def _slugs(self) -> Iterator[tuple[str, str, str]]:
        """The type, slug and language of every entry that ever existed here."""
        for place, of, slug, language in self._reference.past.slugs():
            if place == self.place:
                yield of, slug, language

    async def _check_entries_by_id(self) -> None:
        """Reads entries and their histories by id. Entries of other workspaces and environments are
        null."""
        ids = [entry["id"] for entry in self._reference.entries][:40]
        document = "".join(
            f"a{n}: contentEntryById(id: {_text(one)} locale: {_text(self.locale)}) {{ ...Entry }}"
            for n, one in enumerate([*ids, GONE])
        )
        answer = await self._ask(document, ENTRY)
        found = msgspec.json.decode(answer.text, type=GraphQLEntries).data
        here = {
            one["id"]: one
            for one in self._reference.list_across_types(self.place, None, self.locale)
        }
        for n, one in enumerate([*ids, GONE]):
            entry = found[f"a{n}"]
            if entry is None or one not in here:
                assert (entry, here.get(one)) == (None, None)
                continue
            assert entry.as_dict() == as_served(here[one])
            version = self._reference.entry(self.place, one)["version"]
            assert entry.history is not None
            assert [change.version for change in entry.history] == list(range(version, 0, -1))
            assert entry.version == version

    async def _check_past_entries(self) -> None:
        """Reads every slug that ever existed, at past moments, over REST and GraphQL."""
        times = self._reference.past.times()
        for at in times[:: max(1, len(times) // self._moments)]:
            for of, slug, language in sorted(self._slugs()):
                where = (of, slug, language, self.locale)
                expected = self._expected_as_of(at, *where)
                answer = await self._get(
                    f"/v1/content/{of}/{_path(slug)}", language=language, asOf=timestamp(at)
                )
                self._check_one(answer, expected)
            await self._check_past_entries_over_graphql(at, sorted(self._slugs()))

    async def _check_past_entries_over_graphql(
        self, at: datetime, slugs: list[tuple[str, str, str]]
    ) -> None:
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
        found = msgspec.json.decode(answer.text, type=GraphQLEntries).data
        for n, one in enumerate(known):
            entry, expected = found[f"a{n}"], self._expected_as_of(at, *one, self.locale)
            if entry is None or expected is None:
                assert (entry, expected) == (None, None)
                continue
            assert entry.as_dict() == as_served(expected)
            assert entry.version is not None
            assert entry.history is not None
            assert [change.version for change in entry.history] == list(range(entry.version, 0, -1))

    async def _ask(self, document: str, fragment: str) -> Answer:
        answer = await self._writer.ask(self.place, f"{{ {document} }} {fragment}")
        assert answer.status == 200, answer.text
        assert "errors" not in answer.body, answer.text
        return answer

    def _expected(self, ask: Callable[..., Any], *where: object) -> Any:
        try:
            return ask(self.place, *where)
        except ExpectedRefusal:
            return None

    def _had_type(self, at: datetime, slug: str) -> bool:
        where = {"place": self.place, "slug": slug}
        return (
            self._expected(lambda _: self._reference.past.entry_at(at, what="type", **where))
            is not None
        )

    def _expected_as_of(self, at: datetime, *where: str) -> Any:
        return self._expected(lambda place: self._reference.one_as_of(at, place, *where))


def as_served(expected: Expected) -> Expected:
    """Converts times and values to their form in responses."""
    return {
        **expected,
        "published": expected["published"] and timestamp(expected["published"]),
        "created": timestamp(expected["created"]),
        "updated": timestamp(expected["updated"]),
        "fields": msgspec.json.encode(dict(expected["fields"])).decode(),
    }


def _arguments(**arguments: str | None) -> str:
    return " ".join(f"{name}: {_text(value)}" for name, value in arguments.items())


def _text(value: str | None) -> str:
    """A GraphQL literal, which for strings and null is the same as JSON."""
    return msgspec.json.encode(value).decode()


def _path(slug: str) -> str:
    return quote(slug, safe="")
