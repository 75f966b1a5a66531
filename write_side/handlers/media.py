"""The media library: add or change a file, remove one."""

from __future__ import annotations

from write_side.commands import PutMedia, RemoveMedia
from write_side.decision import Decision, header
from write_side.domain.definition import check_slug
from write_side.domain.events import MediaAdded, MediaChanged, MediaRemoved
from write_side.domain.identity import media_stream
from write_side.domain.refusals import InvalidDefinition
from write_side.domain.text import check_text
from write_side.domain.workspace import Media
from write_side.repository import Repository
from write_side.store.mapper import StreamEvent


async def put_media(command: PutMedia, repository: Repository) -> Decision:
    """Changes nothing if the file already has this URL, name and type."""
    _check(command)
    await repository.workspace(command.workspace)
    media = await repository.find_media(command.workspace, command.media_id)
    if media is not None and not media.removed and _same(media, command):
        return Decision()
    event_type = MediaAdded if media is None or media.removed else MediaChanged
    event = event_type(
        **header(command, command.workspace, media.at if media else None),
        media_id=command.media_id,
        url=command.url,
        name=command.name,
        content_type=command.content_type,
    )
    version = media.version + 1 if media else 1
    stream = media_stream(command.workspace, command.media_id)
    return Decision(events=[StreamEvent(stream, version, event)])


async def remove_media(command: RemoveMedia, repository: Repository) -> Decision:
    """Entries that refer to the file keep its id."""
    media = await repository.find_media(command.workspace, command.media_id)
    if media is None or media.removed:
        return Decision()
    removed = MediaRemoved(
        **header(command, command.workspace, media.at),
        media_id=media.id,
    )
    stream = media_stream(command.workspace, media.id)
    return Decision(events=[StreamEvent(stream, media.version + 1, removed)])


def _check(command: PutMedia) -> None:
    check_slug(command.media_id, "The id of a media file,")
    for what in ("url", "name", "content_type"):
        text = getattr(command, what)
        check_text(text, f"The {what} of media file {command.media_id!r}")
        if not text:
            raise InvalidDefinition(f"The {what} of media file {command.media_id!r} is empty")


def _same(media: Media, command: PutMedia) -> bool:
    return (media.url, media.name, media.content_type) == (
        command.url,
        command.name,
        command.content_type,
    )
