"""``include``: the entries and media files to which the entries of a page refer, level by level
(ADR 46). With ``asOf``, they are as of the same time as the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from msgspec import UNSET, Raw, Struct, UnsetType

from api.context import Call
from api.errors import BadRequest
from api.rest import wire
from api.rest.point_in_time import ListBudget, PastEntry, entries_of_ids
from api.rest.shape import (
    MAX_LISTED,
    Fields,
    Path,
    Step,
    UnknownStep,
    one_of,
    referring_fields,
    refused_step,
    steps_of,
)
from read_side import entries, notices
from read_side.entries import INLINE, EntriesRead, EntryRow
from read_side.lookups import read_media_files
from read_side.notices import Dependency
from read_side.pool import Pool
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.events import STATUSES
from write_side.domain.rendering import stored_values
from write_side.domain.values import NULL, is_null, texts_of
from write_side.entry_history import media_at

MOST = 500
"""Entries of a response, and as many media files."""
MOST_BYTES = 32 * 1024 * 1024
"""The size of the included entries; the same limit as for a GraphQL request."""
IN_MEMORY = wire.MAX_LIMIT * INLINE
"""Bytes of included entries that are read without a turn: those of a page."""
LARGE = 64 * 1024
"""Bytes of fields that are decoded in a thread."""
_TOO_LARGE = f"The included entries have more than {MOST_BYTES:,} bytes"
_NARROW = "ask for a smaller page or include fewer paths"


class LargeIncludes(Exception):
    """The response has to be sent from a file."""


class Links(Struct, frozen=True):
    """The ids that an entry's fields refer to, by the slugs of the fields."""

    type_slug: str
    ids: dict[str, tuple[str, ...]]


_NOTHING = Links("", {})


class IncludeReader:
    """Filled with the entries of a page, then read level by level.

    ``stamp``: of the earliest checkpoint at which something was read. ``is_file``: of a response
    from a file; otherwise more than IN_MEMORY bytes raise LargeIncludes.
    """

    def __init__(
        self,
        call: Call,
        pool: Pool,
        paths: Iterable[Path],
        fields: Fields,
        stamp: int | None,
        *,
        is_file: bool,
    ) -> None:
        self._call = call
        self._pool = pool
        self._start = steps_of(paths)
        self._later = frozenset[str]().union(*(step.slugs() for step in self._start.next.values()))
        self._fields = fields
        self._is_file = is_file
        self._reached: dict[Step, dict[str, None]] = {}
        """The ids of the next level."""
        self._known: dict[str, Links] = {}
        """By id; those that are missing or that the key may not read refer to nothing."""
        self._media: dict[str, None] = {}
        self._is_one_missing = False
        self.bytes = 0
        self.stamp = stamp

    def add(self, type_slug: str, fields: Raw) -> None:
        """An entry of the page. Raises BadRequest."""
        self._follow(self._start, self._links(type_slug, fields, self._start.next))

    async def levels(self) -> AsyncIterator[list[EntryRow]]:
        """The entries, each once, in pieces. Raises BadRequest, LargeIncludes, Busy,
        ReadModelUnavailable."""
        while self._reached:
            reached, self._reached = self._reached, {}
            ids_reached = chain.from_iterable(reached.values())
            new = [one for one in dict.fromkeys(ids_reached) if one not in self._known]
            if len(self._known) + len(new) > MOST:
                raise too_many_included("entries")
            if new:
                async for read in self._read(new):
                    yield [row for one in new if (row := read.get(one)) is not None]
            for step, ids in reached.items():
                for one in ids:
                    self._follow(step, self._known[one])

    async def media(self) -> dict[str, wire.MediaFile]:
        """The files, after all levels. Raises ReadModelUnavailable."""
        if not self._media:
            return {}
        files, stamp = await read_media_files(self._pool, self._call.scope.workspace, self._media)
        self._note(stamp)
        return {key: wire.media_file(files[key]) for key in self._media if key in files}

    async def read_all(self) -> wire.Includes:
        """Raises what ``levels`` and ``media`` raise."""
        entries = {
            row.id: wire.entry_of_any_type(row, self._call.locale)
            async for rows in self.levels()
            for row in rows
        }
        return wire.Includes(entries, await self.media())

    def dependencies(self) -> Iterator[Dependency]:
        """What the response depends on besides the page and the content types. An id that is
        missing may be that of any entry that is created later."""
        scope = self._call.scope
        yield from self._known
        if self._is_one_missing:
            yield from notices.lists(scope, None, STATUSES)
        if self._media:
            yield notices.media_library(scope.workspace)

    async def _read(self, ids: list[str]) -> AsyncIterator[dict[str, EntryRow]]:
        """The entries that the key may read, by id."""
        call = self._call
        found: set[str] = set()
        async for read in entries.entries_in_pieces(
            self._pool,
            call.scope,
            ids=ids,
            locale=call.locale,
            inline=IN_MEMORY // max(len(ids), wire.MAX_LIMIT),
            before=self._before,
        ):
            found.update(row.id for row in read.rows)
            yield await self._readable(read)
        self._forget([one for one in ids if one not in found])

    def _forget(self, missing: list[str]) -> None:
        self._known.update(dict.fromkeys(missing, _NOTHING))
        self._is_one_missing = self._is_one_missing or bool(missing)

    async def _readable(self, read: EntriesRead) -> dict[str, EntryRow]:
        self._note(read.stamp)
        readable: dict[str, EntryRow] = {}
        for row in read.rows:
            assert row.type_slug is not None
            self._known[row.id] = _NOTHING
            if self._call.may_read(row.status):
                readable[row.id] = row
                self._known[row.id] = await self._links_later(row.type_slug, row.fields)
        return readable

    async def _before(self, size: int, has_large: bool) -> None:
        self.bytes += size
        if self.bytes > MOST_BYTES:
            raise BadRequest(f"{_TOO_LARGE}: {_NARROW}")
        if self._is_file:
            call = self._call
            await call.service.large_bodies.reserve(call.request, call.scope.workspace, size)
        elif has_large or self.bytes > IN_MEMORY:
            raise LargeIncludes

    async def _links_later(self, type_slug: str, fields: Raw) -> Links:
        if len(bytes(fields)) <= LARGE:
            return self._links(type_slug, fields, self._later)
        return await asyncio.to_thread(self._links, type_slug, fields, self._later)

    def _links(self, type_slug: str, fields: Raw, slugs: Iterable[str]) -> Links:
        """The ids in these fields, of each at most one more than a response may include: that shows
        that there are too many."""
        known = [field for slug in slugs if (field := self._fields.get((type_slug, slug)))]
        referring = [field for field in known if field.spec.refers_to]
        ids = {}
        values = stored_values(fields) if referring else {}
        for field in referring:
            value = values.get(field.slug, NULL)
            named = [] if is_null(value) else texts_of(field, value)
            ids[field.slug] = tuple(dict.fromkeys(named))[: MOST + 1]
        return Links(type_slug, ids)

    def _follow(self, step: Step, links: Links) -> None:
        for slug, following in step.next.items():
            ids = links.ids.get(slug, ())
            if not ids:
                continue
            if self._fields[links.type_slug, slug].spec.refers_to == "media":
                reached, what = self._media, "media files"
            else:
                reached, what = self._reached.setdefault(following, {}), "entries"
            reached.update(dict.fromkeys(ids))
            if len(reached) > MOST:
                raise too_many_included(what)

    def _note(self, stamp: int | None) -> None:
        if stamp is not None:
            self.stamp = stamp if self.stamp is None else min(self.stamp, stamp)


def too_many_included(what: str) -> BadRequest:
    return BadRequest(f"The page refers to more than {MOST} {what}: {_NARROW}")


async def past_includes(
    call: Call,
    paths: Sequence[Path],
    page: Sequence[PastEntry],
    at: datetime,
    budget: ListBudget,
) -> wire.Includes | UnsetType:
    """The entries and files that the page refers to; UNSET without paths. ``budget``: of the page.

    Raises BadRequest, and what ``entries_of_ids`` raises. A path is checked against the types of
    the entries that it reaches: the types that others had then are not read.
    """
    if not paths:
        return UNSET
    includes = PastIncludeReader(call, paths, at, budget)
    for past in page:
        await includes.add_past(past)
    return await includes.read_all()


class PastIncludeReader(IncludeReader):
    """Reads the levels from the log."""

    def __init__(self, call: Call, paths: Sequence[Path], at: datetime, budget: ListBudget) -> None:
        self._paths = paths
        self._at = at
        self._budget = budget
        self._then: dict[tuple[str, str], Field] = {}
        """The fields of the content types that were reached."""
        self._types: dict[Step, set[str]] = {}
        """The slugs of the content types that each step has reached."""
        pool = call.service.read_model
        super().__init__(call, pool, paths, self._then, None, is_file=False)

    async def add_past(self, past: PastEntry) -> None:
        """An entry of the page. Raises BadRequest."""
        self._learn(past.content_type)
        fields = past.row.fields
        if len(bytes(fields)) <= LARGE:
            self.add(past.content_type.slug, fields)
        else:
            await asyncio.to_thread(self.add, past.content_type.slug, fields)

    def _check_paths(self) -> None:
        """Checks that each field of a path is in a type reached there. Raises BadRequest."""
        for path in self._paths:
            step = self._start
            for number, slug in enumerate(path, 1):
                types = frozenset(self._types.get(step, ()))
                found = referring_fields(path, number, self._then, types) if types else ()
                if isinstance(found, UnknownStep):
                    raise refused_step(found, one_of(self._referring(types)))
                step = step.next[slug]

    async def media(self) -> dict[str, wire.MediaFile]:
        """Raises BadRequest, StoreUnavailable, Overloaded."""
        self._check_paths()
        repository, workspace = self._call.service.repository, self._call.scope.workspace
        async with repository.recorder.long_reads.turn(workspace):
            files = await media_at(repository, workspace, self._media, self._at, self._budget)
        return {
            media_id: wire.MediaFile(media_id, file.url, file.name, file.content_type)
            for media_id in self._media
            if (file := files.get(media_id)) is not None
        }

    async def _read(self, ids: list[str]) -> AsyncIterator[dict[str, EntryRow]]:
        call = self._call
        found = await entries_of_ids(
            call.service, call.scope, ids, self._budget, locale=call.locale, at=self._at
        )
        for past in found.values():
            self._learn(past.content_type)
        yield await self._readable(EntriesRead([one.row for one in found.values()], None))
        self._forget([one for one in ids if one not in found])

    def _follow(self, step: Step, links: Links) -> None:
        if links.type_slug:
            self._types.setdefault(step, set()).add(links.type_slug)
        super()._follow(step, links)

    def _learn(self, content_type: ContentType) -> None:
        slug = content_type.slug
        self._then.update({(slug, field.slug): field for field in content_type.fields})

    def _referring(self, types: frozenset[str]) -> list[str]:
        referring = {
            slug for (of, slug), field in self._then.items() if of in types and field.spec.refers_to
        }
        return sorted(referring)[: MAX_LISTED + 1]
