"""PostgreSQL's statistics of the tables of entries, renewed as these grow.

A plan that was made for an empty table walks a large one: 8 ms for a single entry among 4,000,
and 0.1 ms with statistics, which also have every connection plan anew. PostgreSQL renews them by
itself, but within minutes; an import has filled the tables in a second.
"""

from __future__ import annotations

from write_side.postgres.connection import Connection

FIRST = 1_000
LAST = 1_000_000
"""Events. From there on the tables grow too slowly for plans to change before PostgreSQL looks."""
_ANALYZE = "ANALYZE entry, entry_locale, entry_count, content_type"


class Statistics:
    """Of the read model that the connection writes."""

    def __init__(self, model: Connection) -> None:
        self._model = model
        self._events = 0
        self._next = FIRST

    async def grew(self, events: int) -> None:
        """Each time that as many again were projected as ever before."""
        self._events += events
        if self._next <= self._events and self._next <= LAST:
            self._next = 2 * self._events
            await self._model.execute(_ANALYZE)
