"""Lists of entries as they were at a moment: which entries, at which version (ADR 47).

An entry was in a list either as it is now, if it has not changed since (``living``: a query of the
lists as they are now), or as a version that has ended since (``ended``). What these entries were is
in the log. Each statement reads a bounded number of versions; a list that would need more is
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from read_side.past_versions import CHECKED, EndedCombination, EndedVersions
from read_side.pool import Pool, at_one_moment
from read_side.queries.budget import BY_CURSOR, ROWS, alternative
from read_side.queries.comparison import ATTRIBUTES, EntrySelection, selection
from read_side.queries.finder import PageQuery
from read_side.queries.lists import Lists, catalogue, is_selected
from read_side.queries.pages import finder_of
from read_side.queries.ranges import rank
from read_side.queries.request import Boundary, EntryQuery, Filter
from read_side.queries.statements import Match
from read_side.refusals import InvalidQuery, TooBroad, TypeNotFound
from write_side.domain.identity import Scope
from write_side.domain.refusals import in_words
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

TOO_FAR = f"asOf would read more than {CHECKED:,} versions for this page: {BY_CURSOR}"
_KINDS = statement("read_side", "past_kinds")
_LISTS = statement("read_side", "query_lists")
_LIVING = statement("read_side", "past_living")


class Moment(Struct, frozen=True):
    """A time, and the position of the last event until then."""

    at: datetime
    position: int


class PastVersion(Struct, frozen=True):
    """An entry and its version at the moment."""

    id: str
    type_id: str
    version: int


class PastPage(Struct, frozen=True):
    """``total``: None if it is not wanted, or beyond the budget. ``next``: where the next page
    begins; None after the last."""

    rows: list[PastVersion]
    total: int | None
    next: Boundary | None


async def past_page(pool: Pool, scope: Scope, query: EntryQuery, moment: Moment) -> PastPage:
    """A page of the list as it was. Filters and sort keys are built-in fields. The read model must
    have the moment's position.

    Raises TypeNotFound, InvalidQuery, TooBroad, IncompleteIndex, ReadModelUnavailable.
    """
    built_in = replace(query, custom=False)
    selected = selection(built_in, ())

    async def read(connection: Connection) -> PastPage:
        return await _PastList(connection, scope, built_in, selected, moment).page()

    return await at_one_moment(pool, scope.workspace, read)


class _PastList:
    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        query: EntryQuery,
        selected: EntrySelection,
        moment: Moment,
    ) -> None:
        self._connection = connection
        self._scope = scope
        self._query = query
        self._selection = selected
        self._moment = moment
        self._most = min(query.offset + query.limit, CHECKED) + 1

    async def page(self) -> PastPage:
        query = self._query
        kinds = await self._kinds()
        versions = EndedVersions(self._connection, self._scope, kinds, self._moment.at)
        ended_total, ended = await self._ended(versions)
        total, living = await self._unchanged_entries(self._end(ended))
        found = sorted([*living, *ended], key=self._place)
        self._check_known(found, versions.horizon)
        page = found[query.offset : query.offset + query.limit]
        has_more = len(found) > query.offset + query.limit
        is_counted = query.counted and total is not None and ended_total is not None
        return PastPage(
            await self._rows(page),
            (total or 0) + (ended_total or 0) if is_counted else None,
            Boundary(page[-1].keys, page[-1].position) if page and has_more else None,
        )

    def _check_known(self, found: Sequence[Match], horizon: int) -> None:
        """Raises TooBroad if the page and the entry after it are not among these."""
        needed = self._query.offset + self._query.limit + 1
        if len(found) < self._most:
            is_known = not horizon
        else:
            is_known = needed <= self._most and found[needed - 1].position >= horizon
        if not is_known:
            raise TooBroad(TOO_FAR)

    async def _kinds(self) -> list[EndedCombination]:
        """The selected combinations of versions that have ended. Raises TypeNotFound,
        InvalidQuery."""
        where = (self._scope.workspace, self._scope.environment, self._query.type_slug)
        records = await self._connection.fetch(_KINDS, *where, self._moment.at)
        if not records:
            raise TypeNotFound
        self._check_stages(records)
        kinds = [EndedCombination.of(record) for record in records if record["status"] is not None]
        return [one for one in kinds if is_selected(one, self._selection, self._query)]

    def _check_stages(self, types: Iterable[Any]) -> None:
        """Raises InvalidQuery."""
        paths = {c.path for c in self._selection.conditions} | {k.field for k in self._query.sort}
        if "stage" in paths:
            for one in types:
                if one["has_changed"]:
                    raise InvalidQuery(
                        "Field 'stage' can be neither filtered nor sorted as of this time, because "
                        f"content type '{one['slug']}' has changed since and may have had another "
                        "workflow: leave stage out, or use a time after the change"
                    )

    def _end(self, ended: Sequence[Match]) -> int:
        """The lowest position that can be on the page; 0 if that is unknown."""
        if self._query.sort or len(ended) < self._most:
            return 0
        return sorted(one.position for one in ended)[-self._most]

    async def _unchanged_entries(self, above: int) -> tuple[int | None, list[Match]]:
        """The total, and the first entries that have not changed since the moment; those at the
        position ``above`` and below it may be left out."""
        until = Filter("updatedAt", "lte", (self._moment.at.isoformat(),))
        query = replace(self._query, filters=(*self._query.filters, until))
        where = (self._scope.workspace, self._scope.environment, query.type_slug)
        every_list = catalogue(await self._connection.fetch(_LISTS, *where), None)
        selected = selection(query, ())
        lists = Lists(self._scope, every_list.selected(selected, query))
        if not lists.combinations or selected.ids == frozenset():
            return 0, []
        finder = await finder_of(self._connection, lists, selected, query.offset)
        after = query.after
        if after is None and not query.sort:
            after = Boundary((), self._moment.position + 1)
        page_query = PageQuery(selected.conditions, selected.sort, after, self._most, above)
        try:
            return await finder.page(page_query, 0, counted=query.counted)
        except TooBroad as error:
            if query.offset:
                raise TooBroad(TOO_FAR) from error
            raise TooBroad(
                f"asOf would check more than {ROWS:,} entries for this page: narrow a filter"
                f"{alternative('one', self._selection.others)}"
            ) from error

    async def _ended(self, versions: EndedVersions) -> tuple[int | None, list[Match]]:
        """The total, and the first entries whose version has ended since. Raises TooBroad."""
        after = self._query.after
        selected = self._selection
        has_ids = selected.ids is not None or selected.excluded_ids
        is_plain = not (selected.conditions or self._query.sort or has_ids)
        if is_plain:
            through = self._moment.position if after is None else after.position - 1
            found = await versions.newest(through, self._most)
            return await versions.total() if self._query.counted else None, found
        matches = await versions.matches(selected)
        if matches is None:
            raise self._too_many_ended()
        later = matches if after is None else self._after(matches, after)
        return len(matches), later

    def _too_many_ended(self) -> TooBroad:
        open_ = [one for one in self._selection.others if one in ATTRIBUTES]
        return TooBroad(
            f"asOf with filters or sort keys checks the versions that were replaced since, here "
            f"more than {CHECKED:,}: "
            + (
                f"add a filter on {in_words(open_)}, "
                "because only versions of these are checked then"
                if open_
                else "leave filters and sort keys out, or use a later time"
            )
        )

    def _after(self, matches: Iterable[Match], boundary: Boundary) -> list[Match]:
        begins = self._place(Match(boundary.keys, boundary.position))
        return [one for one in matches if self._place(one) > begins]

    def _place(self, found: Match) -> tuple[str, int]:
        """The sort key by which the entries of the list are ordered."""
        return rank(found.keys, [key.descending for key in self._query.sort]), -found.position

    async def _rows(self, page: Sequence[Match]) -> list[PastVersion]:
        living = [one.position for one in page if one.record is None]
        where = (self._scope.workspace, self._scope.environment, living)
        records = await self._connection.fetch(_LIVING, *where) if living else []
        by_position = {record["position"]: record for record in records}
        versions = [one.record or by_position[one.position] for one in page]
        return [PastVersion(one["id"], one["type_id"], one["version"]) for one in versions]
