"""Everything that a reader can see of one environment, compared with the reference model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import cycle, product
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from api.context import Service
from api.rest.point_in_time import ListBudget, PastSlugKey, entry_of_slug, list_at
from read_side import entries, paging
from read_side.content_types import content_types
from read_side.entries import EntryRow
from read_side.paging import Page
from read_side.pool import Pool
from read_side.queries.request import EntryQuery
from read_side.refusals import EntryNotFound, NotFound, TypeNotFound
from tests.integration.projector.command_strategies import (
    LANGUAGES,
    LOCALES,
    PLACES,
    SLUGS,
    STATUSES,
    TYPES,
)
from tests.integration.projector.reference_model import Place, ReferenceModel
from tests.integration.projector.reference_values import ExpectedRefusal
from tests.store_clock import BEGINNING
from write_side.domain.identity import Scope
from write_side.domain.refusals import Refused
from write_side.repository import Repository

Paged = Callable[..., Awaitable[Page[EntryRow, int]]]


class ModelReader:
    """``limit``: of every page. ``locale``: of the texts."""

    def __init__(
        self, pool: Pool, reference: ReferenceModel, place: Place, limit: int, locale: str
    ) -> None:
        self._pool = pool
        self._reference = reference
        self._place = place
        self._limit = limit
        self._locale = locale

    async def check_all_reads(self) -> None:
        await self.check_types()
        await self.check_list_across_types(None)
        for slug in TYPES:
            await self.check_list_across_types(slug)
            await self.check_list_of_type(slug)
            await self.check_single_entries(slug)

    async def check_types(self) -> None:
        found = await content_types(self._pool, Scope(*self._place))
        expected = self._reference.types.get(self._place, {})
        assert [(one.slug, one.name) for one in found] == [
            (slug, expected[slug]["name"]) for slug in sorted(expected)
        ]

    async def check_list_of_type(self, type_slug: str) -> None:
        for status in STATUSES:
            for language in LANGUAGES:
                where = (type_slug, status, language, self._locale)
                await self._check_pages(
                    _expected(self._reference.list_of_type, self._place, *where),
                    paging.list_of_type,
                    type_slug=type_slug,
                    status=status,
                    language=language,
                )

    async def check_list_across_types(self, type_slug: str | None) -> None:
        expected = _expected(
            self._reference.list_across_types, self._place, type_slug, self._locale
        )
        await self._check_pages(expected, paging.list_across_types, type_slug=type_slug)

    async def _check_pages(self, expected: list[Any] | None, paged: Paged, **where: Any) -> None:
        """Each page is the right slice of the whole list, so the pages together have each entry
        once, in order."""
        length = 0 if expected is None else len(expected)
        for offset in range(0, length + self._limit, self._limit):
            try:
                page = await paged(
                    self._pool,
                    Scope(*self._place),
                    locale=self._locale,
                    limit=self._limit,
                    offset=offset,
                    **where,
                )
            except TypeNotFound:
                assert expected is None, f"{self._place} has {where}"
                return
            assert expected is not None, f"{self._place} has no {where}"
            assert page.matches == length, (self._place, where)
            wanted = expected[offset : offset + self._limit]
            assert [row_as_dict(row) for row in page.rows] == [
                with_json_fields(one) for one in wanted
            ]

    async def check_single_entries(self, type_slug: str) -> None:
        """Single entries, by every slug that exists or could exist."""
        slugs = {*SLUGS, *(entry["slug"] for entry in self._reference.of(self._place, type_slug))}
        for slug in sorted(slugs):
            for language in LANGUAGES:
                where = (type_slug, slug, language, self._locale)
                expected = _expected(self._reference.one, self._place, *where)
                found = await self._one(type_slug, slug, language)
                assert found == (expected and with_json_fields(expected)), (self._place, where)

    async def _one(self, type_slug: str, slug: str, language: str) -> Any:
        try:
            row = await entries.entry_of_slug(
                self._pool,
                Scope(*self._place),
                type_slug=type_slug,
                slug=slug,
                language=language,
                locale=self._locale,
            )
        except (TypeNotFound, EntryNotFound):
            return None
        return row_as_dict(row)


async def compare_past(
    pool: Pool, repository: Repository, reference: ReferenceModel, moments: int
) -> None:
    """Compares lists and single entries as of some of the times at which something happened, by
    every slug that ever existed. The read model must have projected the whole log, because its
    answer on who had a slug is compared with the log."""
    times = reference.past.times()
    service = service_on(pool, repository, lambda: max(times, default=BEGINNING))
    for at in times[:: max(1, len(times) // moments)]:
        await _compare_past_lists(service, reference, at)
        for (place, type_slug, slug, language), locale in zip(
            sorted(reference.past.slugs()), cycle(LOCALES), strict=False
        ):
            where = (place, type_slug, slug, language, locale)
            expected = _expected(reference.one_as_of, at, *where)
            try:
                then = await entry_of_slug(
                    service,
                    Scope(*place),
                    PastSlugKey(type_slug, slug, language, locale, at),
                )
            except (NotFound, Refused):
                assert expected is None, (at, where)
                continue
            assert expected is not None, (at, where)
            assert row_as_dict(then.entries[0].row) == with_json_fields(expected), (at, where)


async def _compare_past_lists(service: Service, reference: ReferenceModel, at: datetime) -> None:
    for (place, type_slug, status), language, locale in zip(
        product(PLACES, [None, *TYPES], [None, *STATUSES]),
        cycle([*LANGUAGES, None]),
        cycle(LOCALES),
        strict=False,
    ):
        where = (place, type_slug, status, language, locale)
        expected = _expected(reference.list_as_of, at, *where)
        limit = 2
        for offset in range(0, len(expected or ()) + limit, limit):
            query = EntryQuery(
                type_slug=type_slug,
                status=status,
                language=language,
                limit=limit,
                offset=offset,
                as_of=at,
            )
            scope = Scope(*place)
            try:
                then = await list_at(service, scope, query, ListBudget(), locale=locale)
            except TypeNotFound:
                assert expected is None, (at, where)
                break
            assert expected is not None, (at, where)
            assert then.total == len(expected), (at, where)
            wanted = expected[offset : offset + limit]
            found = [row_as_dict(one.row) for one in then.entries]
            assert found == [with_json_fields(one) for one in wanted], (at, where, offset)


def service_on(pool: Pool, repository: Repository, time: Callable[[], datetime]) -> Service:
    """The parts of a service that reads of the past need, on a read model that has projected the
    whole log."""

    async def always_visible(_position: int, _patience: float) -> bool:
        return True

    parts = {
        "read_model": pool,
        "repository": repository,
        "access": SimpleNamespace(store_time=time),
        "checkpoint": SimpleNamespace(wait=always_visible),
        "settings": SimpleNamespace(read_your_writes=0),
    }
    return cast("Service", SimpleNamespace(**parts))


def _expected(ask: Callable[..., Any], *where: Any) -> Any:
    try:
        return ask(*where)
    except ExpectedRefusal:
        return None


def row_as_dict(row: EntryRow) -> dict[str, Any]:
    """A row as the reference model has it. Values are JSON, in which 1, 1.0 and true differ."""
    return {
        "id": row.id,
        "title": row.title,
        "slug": row.slug,
        "status": row.status,
        "stage": None if row.stage is None else msgspec.json.decode(row.stage)["id"],
        "language": row.language,
        "published": row.published_at,
        "created": row.created_at,
        "updated": row.updated_at,
        "type": (row.type_name, row.type_slug),
        "fields": bytes(row.fields).decode(),
    }


def with_json_fields(expected: dict[str, Any]) -> dict[str, Any]:
    return {**expected, "fields": msgspec.json.encode(dict(expected["fields"])).decode()}
