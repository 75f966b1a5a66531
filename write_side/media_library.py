"""The living files of a workspace's media library, by id."""

from __future__ import annotations

from typing import Any

from write_side.domain.workspace import Media, evolve_media
from write_side.repository import Repository

# The conditions are those of the index event_media.
_EVENTS = """
SELECT topic, state FROM write_side.event
WHERE originator_id LIKE 'media/%' AND split_part(originator_id, '/', 2) = $1
ORDER BY notification_id"""


async def media_files(repository: Repository, workspace: str) -> list[Media]:
    files: dict[str, Media] = {}
    for row in await repository.recorder.fetch(_EVENTS, workspace):
        event: Any = repository.mapper.decode(row["topic"], row["state"])
        files[event.media_id] = evolve_media(files.get(event.media_id), event)
    return [files[media_id] for media_id in sorted(files) if not files[media_id].removed]
