"""Loads aggregates by folding their streams, and looks up claims.

Content types are cached. A decision made under an old one cannot be appended, because the append
checks its version. A refusal is never based on a cached one (``dispatch.py``).
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import reduce
from typing import Any
from weakref import WeakValueDictionary

import asyncpg

from write_side.domain import content_type as content_types
from write_side.domain import entry as entries
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import EntryEvent, ImportMappingSaved, ImportRecorded, ImportReverted
from write_side.domain.identity import (
    Scope,
    content_type_stream,
    entry_stream,
    import_mapping_stream,
    import_stream,
    is_id,
    is_slug,
    key_stream,
    media_stream,
    slug_hash,
    webhook_stream,
    workspace_stream,
)
from write_side.domain.refusals import (
    InvalidEntry,
    UnknownContentType,
    UnknownEntry,
    UnknownWorkspace,
)
from write_side.domain.text import unstorable
from write_side.domain.webhook import Webhooks, evolve_webhooks
from write_side.domain.workspace import (
    Key,
    Media,
    Workspace,
    evolve_key,
    evolve_media,
    evolve_workspace,
)
from write_side.entry_snapshots import latest_entries
from write_side.fair_queue import FairQueue
from write_side.postgres.statements import statement
from write_side.store.append import Appended
from write_side.store.mapper import EventMapper
from write_side.store.recorder import Recorder
from write_side.store.streams import StreamSlice, slice_rows
from write_side.waiting import chunks, in_slices

CACHED_TYPES = 2_000
"""A content type of 20 fields takes 10 kB."""
LARGE_COMMANDS = 2
"""Large commands that are decided at the same time, each of a different workspace. They occupy
threads, which other requests need, too. Most take milliseconds, so any number of them may wait."""
LOOKED_UP = 5_000
"""Ids or slugs that one statement looks up. Encoding more would delay other tasks."""
_TYPES_OF_ENTRIES = statement("write_side", "types_of_entries")
_MEDIA_NAMED = statement("write_side", "media_named")
_ENTRIES_BY_SLUG = statement("write_side", "entries_by_slug")
_ENTRIES_BY_SLUG_IN_ANY_LANGUAGE = statement("write_side", "entries_by_slug_in_any_language")

_TYPE = """
SELECT id::text, version FROM write_side.content_type_claim
WHERE (workspace, environment, slug) = ($1, $2, $3)"""
_TYPES = """
SELECT id::text FROM write_side.content_type_claim
WHERE (workspace, environment) = ($1, $2) ORDER BY slug"""
_KEY = """
SELECT id FROM write_side.key_claim WHERE workspace = $1 AND name = $2 AND NOT revoked"""
_EVENT = """
SELECT notification_id, topic, state, at FROM write_side.event
WHERE (originator_id, originator_version) = ($1, $2)"""
_LAST_EVENT = """
SELECT originator_version, topic, state, at FROM write_side.event
WHERE originator_id = $1 ORDER BY originator_version DESC LIMIT 1"""
# The conditions are those of the index event_media.
_MEDIA = """
SELECT topic, state, at FROM write_side.event
WHERE originator_id LIKE 'media/%' AND split_part(originator_id, '/', 2) = $1
ORDER BY notification_id"""
_KEYS = "SELECT id FROM write_side.key_claim WHERE workspace = $1 AND NOT revoked ORDER BY name"


class Repository:
    def __init__(self, recorder: Recorder, mapper: EventMapper) -> None:
        self.recorder = recorder
        self.mapper = mapper
        self._types: OrderedDict[tuple[Scope, str], ContentType] = OrderedDict()
        self.import_priority = asyncio.Semaphore(1)
        self.large_commands = FairQueue(LARGE_COMMANDS, waiting=sys.maxsize)
        self.entry_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def content_type(self, scope: Scope, slug: str) -> ContentType:
        """The content type of a slug; raises UnknownContentType."""
        cached = self._types.get((scope, slug))
        if cached is not None:
            self._types.move_to_end((scope, slug))
            return cached
        content_type = await self.fresh_content_type(scope, slug)
        self._types[(scope, slug)] = content_type
        if len(self._types) > CACHED_TYPES:
            self._types.popitem(last=False)
        return content_type

    async def fresh_content_type(self, scope: Scope, slug: str) -> ContentType:
        """The content type from the log; also removes it from the cache. Raises
        UnknownContentType."""
        self.forget(scope, slug)
        if not is_slug(slug):
            raise UnknownContentType
        rows = await self.recorder.fetch(_TYPE, scope.workspace, scope.environment, slug)
        if not rows:
            raise UnknownContentType
        return await self.content_type_by_id(rows[0]["id"])

    def forget(self, scope: Scope, slug: str) -> None:
        """Removes the content type from the cache."""
        self._types.pop((scope, slug), None)

    async def content_type_by_id(self, content_type_id: str) -> ContentType:
        stream = await self._stream(content_type_stream(content_type_id))
        content_type = reduce(content_types.evolve, stream, None)
        if content_type is None:
            raise UnknownContentType
        return content_type

    async def content_types(self, scope: Scope) -> list[ContentType]:
        """All content types of an environment, by slug."""
        rows = await self.recorder.fetch(_TYPES, scope.workspace, scope.environment)
        streams = (content_type_stream(row["id"]) for row in rows)
        return await self._folded(content_types.evolve, streams)

    async def entry(self, scope: Scope, entry_id: str) -> Entry:
        """An existing entry of the scope; raises UnknownEntry."""
        if not is_id(entry_id):
            raise UnknownEntry
        found = await self.entries(scope, [entry_id])
        if entry_id not in found:
            raise UnknownEntry
        return found[entry_id]

    async def entries(
        self, scope: Scope, entry_ids: Iterable[str], most: int | None = None
    ) -> dict[str, Entry]:
        """The entries with these ids that exist in the scope. Raises InvalidEntry as soon as they
        take more than ``most`` bytes."""
        found: dict[str, Entry] = {}
        size = 0
        slices = [StreamSlice(entry_stream(each)) for each in dict.fromkeys(entry_ids)]
        async for entry in latest_entries(self.recorder, self.mapper, slices):
            if entry.deleted or entry.scope != scope:
                continue
            size += entries.stored_bytes(entry)
            if most is not None and size > most:
                raise InvalidEntry(
                    f"The entries to update take more than {most:,} bytes: update fewer at a time"
                )
            found[entry.id] = entry
        return found

    async def entry_after(self, entry_id: str, version: int) -> Entry:
        """The entry after that version, which must be in the log."""
        slices = [StreamSlice(entry_stream(entry_id), before=version + 1)]
        [entry] = [one async for one in latest_entries(self.recorder, self.mapper, slices)]
        return entry

    async def entry_states(
        self, entry_ids: Iterable[str]
    ) -> AsyncIterator[tuple[Entry, EntryEvent]]:
        """Each entry after each of its events, one entry after another, in any scope. Holds one
        page of the log at a time, because a history may be far larger than an entry."""
        slices = [StreamSlice(entry_stream(each)) for each in dict.fromkeys(entry_ids)]
        entry: Entry | None = None
        of = -1
        async for index, row in slice_rows(self.recorder, slices):
            event = self.mapper.event_of(row)
            entry = entries.evolve(entry if index == of else None, event)
            of = index
            yield entry, event

    async def workspace(self, slug: str) -> Workspace:
        """Raises UnknownWorkspace."""
        workspace = await self.find_workspace(slug)
        if workspace is None:
            raise UnknownWorkspace(slug)
        return workspace

    async def find_workspace(self, slug: str) -> Workspace | None:
        return reduce(evolve_workspace, await self._stream(workspace_stream(slug)), None)

    async def workspaces(self, slugs: Iterable[str]) -> list[Workspace]:
        return await self._folded(evolve_workspace, map(workspace_stream, slugs))

    async def find_key(self, workspace: str, name: str) -> Key | None:
        """The live key with a name."""
        rows = await self.recorder.fetch(_KEY, workspace, name)
        stream = await self._stream(key_stream(rows[0]["id"])) if rows else []
        return reduce(evolve_key, stream, None)

    async def keys(self, workspace: str) -> list[Key]:
        """The live keys of a workspace, by name."""
        rows = await self.recorder.fetch(_KEYS, workspace)
        return await self._folded(evolve_key, (key_stream(row["id"]) for row in rows))

    async def find_media(self, workspace: str, media_id: str) -> Media | None:
        """The file, even if it has been removed."""
        stream = await self._stream(media_stream(workspace, media_id))
        return reduce(evolve_media, stream, None)

    async def media(self, workspace: str) -> list[Media]:
        """The files of a workspace's library, by id."""
        return await self._files(await self.recorder.fetch(_MEDIA, workspace))

    async def media_named(self, workspace: str, names: Iterable[str]) -> list[Media]:
        """The files of the library that have one of these ids, or have or had one of these URLs, by
        id."""
        files: dict[str, Media] = {}
        for some in chunks((name for name in names if unstorable(name) is None), LOOKED_UP):
            found = await self._files(await self.recorder.fetch(_MEDIA_NAMED, workspace, some))
            files.update((file.id, file) for file in found)
        return [files[media_id] for media_id in sorted(files)]

    async def _files(self, rows: Iterable[asyncpg.Record]) -> list[Media]:
        files: dict[str, Media] = {}
        async for row in in_slices(rows):
            event = self.mapper.event_of(row)
            files[event.media_id] = evolve_media(files.get(event.media_id), event)
        return [files[media_id] for media_id in sorted(files) if not files[media_id].removed]

    async def webhooks(self, workspace: str) -> Webhooks:
        """The webhook endpoints of a workspace, by name."""
        stream = await self._stream(webhook_stream(workspace))
        return reduce(evolve_webhooks, stream, Webhooks())

    async def known_media(self, workspace: str, media_ids: Iterable[str]) -> set[str]:
        """The ids among these that are files of the library."""
        known: set[str] = set()
        for some in chunks(media_ids, LOOKED_UP):
            wanted = {media_stream(workspace, media_id): media_id for media_id in some}
            streams = await self.recorder.select_streams(wanted)
            known.update(
                wanted[stream]
                for stream, rows in streams.items()
                if not rows[-1]["topic"].startswith("media.removed.")
            )
        return known

    async def types_of_entries(self, scope: Scope, entry_ids: Iterable[str]) -> dict[str, str]:
        """Entry id → slug of its type, for the ids of existing entries."""
        place = (scope.workspace, scope.environment)
        types: dict[str, str] = {}
        for ids in chunks(filter(is_id, entry_ids), LOOKED_UP):
            rows = await self.recorder.fetch(_TYPES_OF_ENTRIES, *place, ids)
            types.update((row["id"], row["slug"]) for row in rows)
        return types

    async def entries_by_slug(
        self, scope: Scope, types: Sequence[str], language: str | None, slugs: Iterable[str]
    ) -> dict[str, list[str]]:
        """Slug → ids of the entries with this slug. No types means any type, no language any
        language."""
        place = (scope.workspace, scope.environment, list(types))
        found: dict[str, list[str]] = {}
        for some in chunks(slugs, LOOKED_UP):
            hashes = {slug_hash(slug): slug async for slug in in_slices(some)}
            among = (*place, list(hashes))
            if language is None:
                rows = await self.recorder.fetch(_ENTRIES_BY_SLUG_IN_ANY_LANGUAGE, *among)
            else:
                rows = await self.recorder.fetch(_ENTRIES_BY_SLUG, *among, language)
            for row in rows:
                found.setdefault(hashes[row["slug_hash"]], []).append(row["id"])
        return found

    async def find_import(self, import_id: str) -> tuple[ImportRecorded, Appended] | None:
        """The record of an import, and the place of its events in the log."""
        return await self._import_event(import_id, 1, lambda event: event.created + event.updated)

    async def find_revert(self, import_id: str) -> tuple[ImportReverted, Appended] | None:
        """The record of a revert, and the place of its events in the log."""
        return await self._import_event(import_id, 2, lambda event: event.deleted + event.restored)

    async def _import_event(
        self, import_id: str, version: int, followers: Callable[[Any], int]
    ) -> tuple[Any, Appended] | None:
        """An event of an import's stream: 1 records the import, 2 its revert. ``followers``: the
        number of events that were appended with it."""
        for row in await self.recorder.fetch(_EVENT, import_stream(import_id), version):
            event = self.mapper.event_of(row)
            size = 1 + followers(event)
            return event, Appended(row["notification_id"], size, event.at, replayed=True)
        return None

    async def import_mapping(self, content_type_id: str) -> tuple[int, ImportMappingSaved | None]:
        """The saved column mapping of a content type and its version, 0 if there is none."""
        for row in await self.recorder.fetch(_LAST_EVENT, import_mapping_stream(content_type_id)):
            return row["originator_version"], self.mapper.event_of(row)
        return 0, None

    async def _folded(self, evolve: Callable[[Any, Any], Any], streams: Iterable[str]) -> list[Any]:
        """The aggregates of the streams that exist, in their order."""
        names = list(streams)
        found = await self.recorder.select_streams(names)
        return [
            reduce(evolve, map(self.mapper.event_of, found[name]), None)
            for name in names
            if name in found
        ]

    async def _stream(self, stream: str) -> list[Any]:
        return [self.mapper.event_of(row) for row in await self.recorder.select_events(stream)]
