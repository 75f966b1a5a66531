"""The streams of a process: how many a key and a workspace may have, and their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from api.auth.keys import Caller
from api.errors import Busy, TooManyStreams
from api.http.open_connections import most_connections
from api.settings import ApiSettings
from read_side.change_tail import ChangeTail
from write_side.fair_queue import is_within_share

SHARE = 0.5
"""The share of the connections that streams may take; the rest is for requests. A workspace may
have half of what the others leave."""


class OpenStreams:
    """``tail``: where streams get new changes from."""

    def __init__(self, tail: ChangeTail, settings: ApiSettings) -> None:
        self.tail = tail
        self._most = int(most_connections() * SHARE)
        self._most_of_key = settings.streams_per_key
        self._most_of_workspace = settings.streams_per_workspace
        self._streams: set[Callable[[], None]] = set()
        self._of_key: Counter[str] = Counter()
        self._of_workspace: Counter[str] = Counter()
        self._is_closed = False

    @contextmanager
    def admitted(self, end: Callable[[], None], caller: Caller) -> Iterator[None]:
        """``end`` ends the stream. Raises TooManyStreams, Busy."""
        self._check(caller)
        self._streams.add(end)
        self._count(caller, 1)
        try:
            yield
        finally:
            self._streams.remove(end)
            self._count(caller, -1)

    def close(self) -> None:
        """Ends all streams, and admits no others."""
        self._is_closed = True
        for end in list(self._streams):
            end()

    def _check(self, caller: Caller) -> None:
        if self._of_key[caller.key_id] >= self._most_of_key:
            raise TooManyStreams("key", self._most_of_key)
        of_workspace = self._of_workspace[caller.workspace]
        if of_workspace >= self._most_of_workspace:
            raise TooManyStreams("workspace", self._most_of_workspace)
        if self._is_closed or not is_within_share(self._most, len(self._streams), of_workspace):
            raise Busy("Too many streams are open at the moment")

    def _count(self, caller: Caller, number: int) -> None:
        for counts, name in ((self._of_key, caller.key_id), (self._of_workspace, caller.workspace)):
            counts[name] += number
            if not counts[name]:
                del counts[name]
