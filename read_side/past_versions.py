"""Versions of entries that have ended since a moment, and were valid at it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from read_side.lifetimes import beginnings
from read_side.queries.comparison import Condition, EntrySelection
from read_side.queries.lists import Combination
from read_side.queries.statements import Match
from read_side.refusals import TooBroad
from write_side.domain.definition import decode_stages
from write_side.domain.identity import Scope
from write_side.domain.keys import INCOMPARABLE, MISSING, text_key, time_key
from write_side.domain.rendering import stage_of
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

CHECKED = 10_000
"""The most versions that are read for a page."""
FEW = 500
"""Versions that are read first for a page."""
COUNTED = 100_000
"""Versions that are counted for a total."""
KINDS = 500
"""Combinations of type, status and language in a list."""
_PAGE = statement("read_side", "past_page")
_TOTAL = statement("read_side", "past_total")
_ENDED = statement("read_side", "past_ended")


class EndedCombination(Combination, frozen=True):
    """``stages``: those of the type now."""

    stages: dict[str, str]

    @classmethod
    def of(cls, record: Any) -> EndedCombination:
        """From a record of ``past_kinds.sql``."""
        stages = decode_stages(record["stages"]) if record["stages"] else ()
        return cls(
            record["type_id"],
            record["slug"],
            record["status"],
            record["language"],
            {stage.id: stage.id for stage in stages},
        )


class EndedVersions:
    """The ended versions of some kinds.

    ``horizon``: the last position down to which ``newest`` knows the list; 0 if it knows all of it.
    """

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        kinds: Sequence[EndedCombination],
        at: datetime,
    ) -> None:
        if len(kinds) > KINDS:
            raise TooBroad(
                f"asOf reads at most {KINDS} combinations of content type, status and language: "
                "add filter[contentType], filter[status] or filter[language]"
            )
        self._connection = connection
        self._kinds = kinds
        self._where = (scope.workspace, scope.environment, at)
        self._lists = [
            [kind.type_id for kind in kinds],
            [kind.status for kind in kinds],
            [kind.language for kind in kinds],
            beginnings(at),
        ]
        self.horizon = 0

    async def newest(self, through: int, most: int) -> list[Match]:
        """The newest entries up to a position."""
        if not self._kinds:
            return []
        found: list[Any] = []
        for rows in dict.fromkeys((min(max(FEW, 2 * most), CHECKED), CHECKED)):
            share = rows // len(self._kinds) + 1
            found = await self._connection.fetch(
                _PAGE, *self._where, through, *self._lists, share, most
            )
            self.horizon = found[0]["horizon"]
            if not self.horizon or found[0]["found"] >= most:
                break
        return [Match((), one["position"], one) for one in found if one["id"] is not None]

    async def total(self) -> int | None:
        """The number of all entries; None beyond COUNTED."""
        if not self._kinds:
            return 0
        [record] = await self._connection.fetch(_TOTAL, *self._where, *self._lists, COUNTED)
        total: int | None = record["total"]
        return total

    async def matches(self, selected: EntrySelection) -> list[Match] | None:
        """All selected entries, in no order; None if more than CHECKED versions would be read."""
        if not self._kinds:
            return []
        parts = {one.path: one.part for one in selected.conditions if one.part is not None}
        assert parts.keys() <= {"title", "slug"}, "the statement compares only these"
        records = await self._connection.fetch(
            _ENDED,
            *self._where,
            *self._lists,
            CHECKED,
            parts.get("title"),
            parts.get("slug"),
        )
        if records[0]["read"] >= CHECKED:
            return None
        found = []
        for record in records:
            if record["id"] is not None and _has_id(record["id"], selected):
                kind = self._kinds[record["kind"] - 1]
                keys = _keys(record, kind)
                if all(_meets(one, keys[one.path]) for one in selected.conditions):
                    sort = tuple(keys[key.field] for key in selected.sort)
                    typed = {**record, "type_id": kind.type_id}
                    found.append(Match(sort, record["position"], typed))
        return found


def _has_id(entry_id: str, selected: EntrySelection) -> bool:
    return entry_id not in selected.excluded_ids and (
        selected.ids is None or entry_id in selected.ids
    )


def _keys(record: Any, kind: EndedCombination) -> dict[str, bytes]:
    """The version's keys of the built-in fields. A text that is not kept is too long to be
    compared."""
    stage = stage_of(kind.stages, kind.status, record["stage_id"])
    published = record["published_at"]
    return {
        "id": text_key(record["id"]),
        "title": INCOMPARABLE if record["title"] is None else text_key(record["title"]),
        "slug": INCOMPARABLE if record["slug"] is None else text_key(record["slug"]),
        "stage": MISSING if stage is None else text_key(stage),
        "createdAt": time_key(record["created_at"]),
        "updatedAt": time_key(record["updated_at"]),
        "publishedAt": MISSING if published is None else time_key(published),
        "status": kind.status.encode(),
        "language": kind.language.encode(),
        "contentType": kind.content_type.encode(),
    }


def _meets(condition: Condition, key: bytes) -> bool:
    """Checks the ranges only: the statement has already compared parts of texts."""
    return any(low <= key < high for low, high in condition.ranges)
