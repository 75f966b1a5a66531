"""The media files of a manifest against those of the workspace's library."""

from __future__ import annotations

from write_side.applying.steps import Step
from write_side.applying.wanted import Wanted
from write_side.commands import PutMedia, RemoveMedia
from write_side.domain.identity import is_slug
from write_side.domain.workspace import Media
from write_side.manifest import ManifestError, WrittenMedia
from write_side.media_library import media_files


async def compared(wanted: Wanted) -> list[Step]:
    workspace = wanted.manifest.workspace
    known = {file.id: file for file in await media_files(wanted.repository, workspace)}
    mentioned = {file.id for file in wanted.manifest.media}
    removals = [
        Step(
            f"media {media_id} removed: the manifest does not mention it",
            RemoveMedia(actor=wanted.actor, workspace=workspace, media_id=media_id),
        )
        for media_id in known
        if wanted.prune and media_id not in mentioned
    ]
    puts = [
        _put(wanted, file, known.get(file.id))
        for file in wanted.manifest.media
        if _differs(file, known.get(file.id))
    ]
    return [*removals, *puts]


def _put(wanted: Wanted, file: WrittenMedia, known: Media | None) -> Step:
    if not is_slug(file.id):
        raise ManifestError(f"media: {file.id!r} cannot be an id")
    put = PutMedia(
        actor=wanted.actor,
        workspace=wanted.manifest.workspace,
        media_id=file.id,
        url=file.url,
        name=file.name,
        content_type=file.content_type,
    )
    return Step(f"media {file.id} {'changed' if known else 'added'}", put)


def _differs(file: WrittenMedia, known: Media | None) -> bool:
    return known is None or (file.url, file.name, file.content_type) != (
        known.url,
        known.name,
        known.content_type,
    )
