"""Content to measure with: a workspace, a type of ten fields, and entries of about a kilobyte."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw

from write_side.commands import Command, CreateContentType, CreateWorkspace, IssueKey
from write_side.dispatch import execute
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.events import EntryCreated, EntryUpdated
from write_side.domain.identity import Actor, Scope, entry_stream, new_id
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

SECRET = "a-secret-for-the-benchmarks"
OPERATOR = Actor("operator", "benchmark")
SCOPE = Scope("bench", "production")
FIELDS = (
    Field("body", "Body", "rich_text"),
    Field("summary", "Summary", "text"),
    Field("views", "Views", "number"),
    Field("featured", "Featured", "boolean"),
    Field("live", "Live", "datetime"),
    *(Field(f"text_{n}", f"Text {n}", "text") for n in range(5)),
)
VALUES = {
    "body": Raw(b'"' + b"The quick brown fox jumps over the lazy dog. " * 12 + b'"'),
    "summary": Raw(b'"' + b"Of a fox and a dog. " * 6 + b'"'),
    "views": Raw(b"1234"),
    "featured": Raw(b"true"),
    "live": Raw(b'"2026-01-31T09:30:00Z"'),
    **{f"text_{n}": Raw(b'"some shorter text here"') for n in range(5)},
}


# Titles, and the slugs made from them, differ from those of other runs.
_numbers = itertools.count(time.time_ns())


def create_body() -> bytes:
    """The body of a create of another entry."""
    title = f"Created {next(_numbers)}"
    return msgspec.json.encode({"contentTypeSlug": "posts", "title": title, "fields": VALUES})


async def prepare(repository: Repository, fields: tuple[Field, ...] = FIELDS) -> ContentType:
    """Creates the workspace, its key and its content type."""
    commands: list[Command] = [
        CreateWorkspace(actor=OPERATOR, workspace="bench", name="Bench"),
        IssueKey(
            actor=OPERATOR,
            workspace="bench",
            name="bench",
            permissions=("content.view", "content.edit"),
            secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
        ),
        CreateContentType(actor=OPERATOR, scope=SCOPE, slug="posts", name="Posts", fields=fields),
    ]
    for command in commands:
        await execute(command, repository)
    return await repository.content_type(SCOPE, "posts")


def created(content_type: ContentType, n: int) -> EntryCreated:
    return EntryCreated(
        workspace=SCOPE.workspace,
        environment=SCOPE.environment,
        actor=OPERATOR,
        entry_id=new_id(),
        content_type_id=content_type.id,
        slug=f"entry-{n}",
        title=f"Entry {n}",
        language="en-US",
        status="published",
        fields=VALUES,
    )


def updated(before: EntryCreated) -> EntryUpdated:
    return EntryUpdated(
        workspace=before.workspace,
        environment=before.environment,
        actor=OPERATOR,
        entry_id=before.entry_id,
        content_type_id=before.content_type_id,
        fields={"views": Raw(b"4321")},
    )


async def fill(url: str, entries: int) -> None:
    """Prepares an empty log, and appends this many entries."""
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), entries)


async def append_entries(
    repository: Repository, content_type: ContentType, n: int, first: int = 0
) -> None:
    """Appends ``n`` entries directly to the log. Two of three are updated once."""
    await append_events(repository, _events(content_type, range(first, first + n)))


def _events(
    content_type: ContentType, numbers: Iterable[int]
) -> Iterator[EntryCreated | EntryUpdated]:
    for number in numbers:
        event = created(content_type, number)
        yield event
        if number % 3:
            yield updated(event)


async def append_events(
    repository: Repository, events: Iterable[EntryCreated | EntryUpdated]
) -> None:
    """Appends events directly to the log, without command handlers or claims."""
    mapper = EventMapper()
    stored = (
        mapper.to_stored_event(
            StreamEvent(
                entry_stream(event.entry_id), 1 if isinstance(event, EntryCreated) else 2, event
            )
        )
        for event in events
    )
    while batch := list(itertools.islice(stored, 1_000)):
        await repository.recorder.append(Append(events=batch))
