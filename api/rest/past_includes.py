"""``include`` with ``asOf``: what the entries of the past refer to, as of the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec import UNSET, UnsetType

from api.context import Call
from api.rest import wire
from api.rest.include_paths import Path, Step, UnknownStep, leading_fields, refused_step
from api.rest.includes import LARGE, IncludeReader, Links
from api.rest.point_in_time import ListBudget, PastEntry, entries_of_ids
from api.rest.shape import MAX_LISTED, one_of
from read_side.entries import EntriesRead, EntryRow
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.entry_history import media_at


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
                found = leading_fields(path, number, self._then, types) if types else ()
                if isinstance(found, UnknownStep):
                    raise refused_step(found, one_of(self._leading(types)))
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

    def _leading(self, types: frozenset[str]) -> list[str]:
        leading = {
            slug for (of, slug), field in self._then.items() if of in types and field.spec.refers_to
        }
        return sorted(leading)[: MAX_LISTED + 1]
