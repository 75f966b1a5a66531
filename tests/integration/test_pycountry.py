"""Real data: all of pycountry is created, through POST and from files, and is returned unchanged.

POST creates 249 countries. Files of the maximum size create 5,046 subdivisions, which refer by slug
to countries and to one another, and 7,923 languages. Country names are translated into every locale
that CLDR and pycountry's catalogues share.
"""

from __future__ import annotations

import asyncio
import csv
import gettext
import hashlib
import io
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pycountry
import pytest
from babel.core import get_global
from msgspec import Raw

from tests.processes import Processes, running
from write_side.commands import (
    Command,
    CreateContentType,
    CreateWorkspace,
    IssueKey,
    UpdateEntry,
)
from write_side.dispatch import execute
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.identity import Actor, Scope
from write_side.domain.locales import supported_locales
from write_side.imports.check import check
from write_side.imports.columns import load_proposal
from write_side.imports.importer import ImportRun, run_import
from write_side.imports.preview import Counts
from write_side.imports.request import ImportRequest
from write_side.imports.table import LIMITS
from write_side.imports.uploads import find_preview, find_upload, keep_preview, keep_upload
from write_side.repository import Repository

pytestmark = pytest.mark.slow

SECRET = "a-secret-of-the-pycountry-test"
OPERATOR = Actor("operator", "tests")
WORLD = Scope("world", "production")
AT_ONCE = 32
FALLBACK = "en-US"
ONE_BY_ONE = 4
REFERENCES = {"country": "countries", "parent": "subdivisions"}
ONE_LOCALE = {"subdivisions": ("iso3166-2", "fr-FR"), "languages": ("iso639-3", "zh-CN")}

Entry = dict[str, Any]


def text(slug: str) -> Field:
    return Field(slug, slug.replace("_", " ").capitalize(), "text")


TYPES = {
    "countries": (
        text("alpha_2"),
        text("alpha_3"),
        text("numeric"),
        text("flag"),
        text("official_name"),
        text("common_name"),
    ),
    "subdivisions": (
        text("code"),
        text("kind"),
        Field("country", "Country", "reference", to=("countries",)),
        Field("parent", "Parent", "reference", to=("subdivisions",)),
    ),
    "languages": (
        text("alpha_3"),
        text("alpha_2"),
        text("scope"),
        text("kind"),
        text("common_name"),
        text("inverted_name"),
        text("bibliographic"),
    ),
}


def countries() -> Iterable[Entry]:
    for country in pycountry.countries:
        known = vars(country)["_fields"]
        slugs = [field.slug for field in TYPES["countries"]]
        yield {
            "contentTypeSlug": "countries",
            "title": country.name,
            "slug": country.alpha_2.lower(),
            "fields": {slug: known[slug] for slug in slugs if slug in known},
        }


def languages() -> Iterable[Entry]:
    for language in pycountry.languages:
        known = dict(vars(language)["_fields"], kind=language.type)
        slugs = [field.slug for field in TYPES["languages"]]
        yield {
            "title": language.name,
            "slug": language.alpha_3,
            "fields": {slug: known[slug] for slug in slugs if slug in known},
        }


def subdivision(source: Any) -> Entry:
    """A subdivision as in a file: references are slugs."""
    fields = {"code": source.code, "kind": source.type, "country": source.country_code.lower()}
    if source.parent_code:
        fields["parent"] = source.parent_code
    return {"title": source.name, "slug": source.code, "fields": fields}


def locales_of_catalogues(domain: str) -> dict[str, gettext.NullTranslations]:
    """Locale code → the catalogue of the domain for that locale."""
    found: dict[str, gettext.NullTranslations] = {}
    for folder in sorted(Path(pycountry.LOCALES_DIR).iterdir()):
        code = get_global("likely_subtags").get(folder.name, folder.name)
        parts = code.split("_")
        locale = f"{parts[0]}-{parts[-1]}"
        if locale in supported_locales() - {FALLBACK} and locale not in found:
            with suppress(FileNotFoundError):
                found[locale] = gettext.translation(domain, pycountry.LOCALES_DIR, [folder.name])
    return found


async def all_of(work: Iterable[Awaitable[Any]]) -> list[Any]:
    """The results in order; a limited number of steps run at once."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(step: Awaitable[Any]) -> Any:
        async with turn:
            return await step

    return await asyncio.gather(*(one(step) for step in work))


@pytest.fixture
async def server(
    repository: Repository, database_url: str, tmp_path: Path
) -> AsyncIterator[Processes]:
    commands: list[Command] = [CreateWorkspace(actor=OPERATOR, workspace="world", name="World")]
    commands.append(
        IssueKey(
            actor=OPERATOR,
            workspace="world",
            name="tests",
            permissions=("content.view", "content.edit"),
            secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
        )
    )
    commands.extend(
        CreateContentType(actor=OPERATOR, scope=WORLD, slug=slug, name=slug.title(), fields=fields)
        for slug, fields in TYPES.items()
    )
    for command in commands:
        await execute(command, repository)
    with running(database_url, tmp_path / "processes.log") as processes:
        await processes.caught_up()
        yield processes


class Client:
    """A client of the public REST API."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def create(self, body: Entry) -> Entry:
        async with self._session.post("/v1/content", json=body) as response:
            assert response.status == 200, await response.text()
            return dict(msgspec.json.decode(await response.read())["data"])

    async def one(self, type_slug: str, slug: str, locale: str = FALLBACK) -> Entry:
        path = f"/v1/content/{type_slug}/{slug}?locale={locale}"
        async with self._session.get(path) as response:
            assert response.status == 200, (path, await response.text())
            return dict(msgspec.json.decode(await response.read())["data"])

    async def all(self, type_slug: str, limit: int, locale: str = FALLBACK) -> list[Entry]:
        """Every entry of a type, page by page."""
        first = await self.page(type_slug, limit, 0, locale)
        total = first["pagination"]["total"]
        pages = await all_of(
            self.page(type_slug, limit, offset, locale) for offset in range(limit, total, limit)
        )
        return [entry for page in [first, *pages] for entry in page["data"]]

    async def page(self, type_slug: str, limit: int, offset: int, locale: str) -> Entry:
        query = f"status=draft&limit={limit}&offset={offset}&locale={locale}"
        async with self._session.get(f"/v1/content/{type_slug}?{query}") as response:
            assert response.status == 200, await response.text()
            return dict(msgspec.json.decode(await response.read()))


@pytest.fixture
async def client(server: Processes) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with aiohttp.ClientSession(server.url, headers=headers) as session:
        yield Client(session)


async def test_all_of_pycountry_is_exported_as_imported(
    server: Processes, client: Client, repository: Repository
) -> None:
    sent = {type_slug: await fill(client, type_slug, repository) for type_slug in TYPES}
    await server.caught_up()
    assert [len(sent[type_slug]) for type_slug in TYPES] == [249, 5046, 7923]
    for type_slug, entries in sent.items():
        await check_lists(client, type_slug, entries)
    await check_singles(client, sent)
    await check_countries_in_every_language(server, client, repository, sent["countries"])
    for type_slug, (domain, locale) in ONE_LOCALE.items():
        await check_one_locale(server, client, repository, sent[type_slug], domain, locale)


async def fill(client: Client, type_slug: str, repository: Repository) -> list[Entry]:
    """Create all entries of a type; return what every read must show."""
    if type_slug == "countries":
        bodies = list(countries())
        answers = await all_of(client.create(body) for body in bodies)
        return completed(type_slug, bodies, answers)
    rows = list(languages()) if type_slug == "languages" else parents_first()
    sent = []
    for first in range(0, len(rows), LIMITS.rows):
        sent += await imported(repository, type_slug, rows[first : first + LIMITS.rows])
    return sent


def parents_first() -> list[Entry]:
    """Subdivisions ordered so that each file refers only to itself and to earlier files. Within a
    file, references go in both directions."""
    by_code = {source.code: source for source in pycountry.subdivisions}

    def depth(source: Any) -> int:
        return 1 + depth(by_code[source.parent_code]) if source.parent_code else 0

    return [subdivision(source) for source in sorted(by_code.values(), key=depth)]


async def imported(repository: Repository, type_slug: str, rows: list[Entry]) -> list[Entry]:
    """Import through the steps of the wizard. Each step reads what the previous one stored."""
    fields = TYPES[type_slug]
    names = [field.name for field in fields]
    document = io.StringIO()
    table = csv.DictWriter(document, ["Title", "Slug", *names])
    table.writeheader()
    for row in reversed(rows):
        cells = {field.name: row["fields"].get(field.slug, "") for field in fields}
        table.writerow({"Title": row["title"], "Slug": row["slug"], **cells})
    upload = await keep_upload(
        repository, WORLD, f"{type_slug}.csv", document.getvalue().encode("utf-8-sig")
    )
    proposal = await load_proposal(repository, WORLD, type_slug, upload.table.headings)
    request = ImportRequest(WORLD, type_slug, upload.id, proposal.targets)
    shown = (await check(repository, upload.table, request)).preview
    assert shown.counts == Counts(new=len(rows))
    await keep_preview(repository, WORLD, upload.id, request, shown)
    kept = await find_upload(repository, WORLD, upload.id)
    agreed = await find_preview(repository, WORLD, upload.id)
    assert agreed is not None
    report = await run_import(
        ImportRun(repository, kept.table, agreed.request, OPERATOR), agreed.preview
    )
    ids = [row.entry_id for row in reversed(report.rows) if row.entry_id]
    return await expected_entries(repository, type_slug, rows, ids)


async def expected_entries(
    repository: Repository, type_slug: str, rows: list[Entry], ids: list[str]
) -> list[Entry]:
    """The rows as entries. The log supplies the times and the ids of references."""
    made = await repository.entries(WORLD, ids)
    assert len(made) == len(rows)
    content_type = await repository.content_type(WORLD, type_slug)
    slugs = {row["fields"][slug] for row in rows for slug in REFERENCES if slug in row["fields"]}
    known = {
        field: await repository.entries_by_slug(WORLD, (kind,), FALLBACK, slugs)
        for field, kind in REFERENCES.items()
    }
    shape = dict.fromkeys(field.slug for field in TYPES[type_slug])
    entries = []
    for row, entry_id in zip(rows, ids, strict=True):
        fields = {
            slug: known[slug][value][0] if slug in known else value
            for slug, value in row["fields"].items()
        }
        time = made[entry_id].created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entries.append(
            {
                "id": entry_id,
                "title": row["title"],
                "slug": row["slug"],
                "status": "draft",
                "createdAt": time,
                "updatedAt": time,
                "fields": {**shape, **fields},
                "contentType": {"id": content_type.id, "slug": type_slug},
            }
        )
    return entries


def completed(type_slug: str, bodies: list[Entry], answers: list[Entry]) -> list[Entry]:
    shape = dict.fromkeys(field.slug for field in TYPES[type_slug])
    for body, answer in zip(bodies, answers, strict=True):
        assert answer["fields"] == {**shape, **body["fields"]}
        assert (answer["title"], answer["slug"], answer["status"]) == (
            body["title"],
            body["slug"],
            "draft",
        )
    return answers


def essence(entry: Entry) -> tuple[Any, ...]:
    """The values that the create response and every read must share."""
    names = ("id", "title", "slug", "status", "createdAt", "updatedAt")
    return (*(entry[name] for name in names), entry["fields"])


async def check_lists(client: Client, type_slug: str, sent: list[Entry]) -> None:
    expected = {entry["id"]: essence(entry) for entry in sent}
    by_hundreds = await client.all(type_slug, 100)
    by_tens = await client.all(type_slug, 10)
    assert [e["id"] for e in by_hundreds] == [e["id"] for e in by_tens]
    assert {e["id"]: essence(e) for e in by_hundreds} == expected
    assert len(by_hundreds) == len(expected)
    times = [entry["createdAt"] for entry in by_hundreds]
    assert times == sorted(times, reverse=True)


async def check_singles(client: Client, sent: dict[str, list[Entry]]) -> None:
    for type_slug, entries in sent.items():
        found = await all_of(client.one(type_slug, entry["slug"]) for entry in entries)
        assert [essence(entry) for entry in found] == [essence(entry) for entry in entries]


async def check_countries_in_every_language(
    server: Processes, client: Client, repository: Repository, sent: list[Entry]
) -> None:
    """Check every locale. A title without a translation in the catalogue stays in the original."""
    catalogues = locales_of_catalogues("iso3166-1")
    assert len(catalogues) > 80
    await all_of(translate_into_all(repository, entry, catalogues) for entry in sent)
    await server.caught_up()
    for locale in [*catalogues, "en-GB"]:
        in_locale = catalogues.get(locale, gettext.NullTranslations()).gettext
        read = await client.all("countries", 100, locale)
        assert {e["id"]: e["title"] for e in read} == {e["id"]: in_locale(e["title"]) for e in sent}
        assert {e["locale"] for e in read} == {locale}
    singles = await all_of(client.one("countries", e["slug"], "ja-JP") for e in sent)
    japanese = catalogues["ja-JP"]
    assert [e["title"] for e in singles] == [japanese.gettext(e["title"]) for e in sent]
    assert [e["fields"]["official_name"] for e in singles] == [official(japanese, e) for e in sent]


async def translate_into_all(
    repository: Repository, entry: Entry, catalogues: dict[str, gettext.NullTranslations]
) -> None:
    """Send the first few locales one at a time, then all others at once."""
    translations = {
        locale: translation
        for locale, catalogue in catalogues.items()
        if (translation := translated(catalogue, entry)) is not None
    }
    locales = sorted(translations, key=lambda locale: (locale != "ja-JP", locale))
    for locale in locales[:ONE_BY_ONE]:
        await execute(translation_of(entry, locale, translations[locale]), repository)
    others = {locale: translations[locale] for locale in locales[ONE_BY_ONE:]}
    await execute(
        UpdateEntry(actor=OPERATOR, scope=WORLD, entry_id=entry["id"], translations=others),
        repository,
    )


async def check_one_locale(
    server: Processes,
    client: Client,
    repository: Repository,
    sent: list[Entry],
    domain: str,
    locale: str,
) -> None:
    catalogue = locales_of_catalogues(domain)[locale]
    texts = {entry["id"]: translated(catalogue, entry) for entry in sent}
    entries = [entry for entry in sent if texts[entry["id"]] is not None]
    assert len(entries) > 100
    await all_of(
        execute(translation_of(entry, locale, texts[entry["id"]]), repository) for entry in entries
    )
    await server.caught_up()
    read = await client.all(sent[0]["contentType"]["slug"], 100, locale)
    assert {e["id"]: e["title"] for e in read} == {
        e["id"]: catalogue.gettext(e["title"]) for e in sent
    }


def translation_of(entry: Entry, locale: str, texts: Translation | None) -> UpdateEntry:
    assert texts is not None
    return UpdateEntry(
        actor=OPERATOR,
        scope=WORLD,
        entry_id=entry["id"],
        translations={locale: texts},
    )


def translated(catalogue: gettext.NullTranslations, entry: Entry) -> Translation | None:
    """The translation, or None if the catalogue leaves the title unchanged."""
    title = catalogue.gettext(entry["title"])
    if title == entry["title"]:
        return None
    name = official(catalogue, entry)
    return Translation(title, {"official_name": Raw(msgspec.json.encode(name))} if name else {})


def official(catalogue: gettext.NullTranslations, entry: Entry) -> str | None:
    name = entry["fields"].get("official_name")
    return catalogue.gettext(name) if name else None
