"""What the write side refuses, with messages for the user who sent the command.

Refused
├── UnknownWorkspace
├── UnknownContentType
├── UnknownEntry, UnknownVersion
├── UnknownKey
├── UnknownWebhook
├── UnknownImport, UnknownUpload
├── StagingNotInPlan
├── EnvironmentNotSetUp
├── InvalidEntry ── InvalidText, InvalidField, UnknownReference, MissingFields
├── InvalidDefinition            an ill-formed workspace, content type, key, media file or webhook
├── Taken ── SlugTaken, EntryIdTaken, ContentTypeTaken, KeyTaken, WebhookTaken, WorkspaceTaken,
│             ImportIdTaken
├── ContentTypeInUse
├── PlanLimitReached
├── VersionConflict              the entry is not at the version the caller expected
├── CommandKeyReused             one idempotency key, two different requests
└── FileMismatch                 one import id, two different files

A refusal appends nothing. ``StaleDecision`` is not a refusal: the log moved on while a command was
being decided, and the command must be decided again.

``ExplainedError`` is the base of the other expected errors, in all packages. The functions at the
end word the messages of all packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")
_ON_READ_MODEL = re.compile("`contentlog (doctor|migrate|rebuild|verify)[^`]*")
_LONGEST = 200
"""Characters of a slug or an id in a message."""
_LONGEST_MISTYPED = 100
"""Characters of a word that is compared with others, which takes quadratic time."""
_FEW = 5
"""Items of a list that a message names."""


class ExplainedError(Exception):
    """An error whose text tells an operator in one line what is wrong. The command line prints it
    instead of a traceback."""


class Refused(Exception):
    """A command that is refused; the text is for the user who sent it."""


class UnknownWorkspace(Refused):
    def __init__(self, slug: str) -> None:
        super().__init__(f"There is no workspace {slug!r}")


class UnknownContentType(Refused):
    def __init__(self) -> None:
        super().__init__("Content type not found")


class UnknownEntry(Refused):
    def __init__(self) -> None:
        super().__init__("Content entry not found")


class UnknownVersion(Refused):
    def __init__(self, version: int, newest: int) -> None:
        super().__init__(f"This entry has no version {version}; its versions are 1 to {newest}")


class UnknownKey(Refused):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no API key {name!r} in this workspace")


class UnknownWebhook(Refused):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no webhook {name!r} in this workspace")


class UnknownImport(Refused):
    def __init__(self, import_id: str) -> None:
        super().__init__(f"There is no import {import_id!r}")


class UnknownUpload(Refused):
    def __init__(self) -> None:
        super().__init__("This upload has expired or was discarded: upload the file again")


class StagingNotInPlan(Refused):
    def __init__(self) -> None:
        super().__init__("The staging environment is not included in your team's plan")


class EnvironmentNotSetUp(Refused):
    def __init__(self, environment: str) -> None:
        super().__init__(f"This team has no {environment} environment yet")


class InvalidEntry(Refused):
    """A create or an update whose content cannot be accepted (behaviour.md §4.4, 400)."""


class InvalidText(InvalidEntry):
    """Text that is empty or that PostgreSQL cannot store, or JSON that is nested too deeply."""


class InvalidField(InvalidEntry):
    def __init__(self, path: str, expected: str) -> None:
        self.path = path
        self.expected = expected
        super().__init__(f"Field '{path}' takes {expected}")


class UnknownReference(InvalidEntry):
    def __init__(self, path: str, target: str, why: str) -> None:
        self.path = path
        self.target = target
        self.why = why
        super().__init__(f"Field '{path}' refers to {shortened(target, _LONGEST)!r}, {why}")


class MissingFields(InvalidEntry):
    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        super().__init__(f"Publishing needs a value in these required fields: {', '.join(paths)}")


class InvalidDefinition(Refused):
    """A workspace, content type, API key, media file or webhook that is not well formed."""


class Taken(Refused):
    """Something that must be unique is already in use."""


class SlugTaken(Taken):
    def __init__(self, slug: str) -> None:
        super().__init__(
            f"An entry with the slug '{shortened(slug, _LONGEST)}' already exists in this content "
            "type; send another slug or update that entry"
        )


class EntryIdTaken(Taken):
    def __init__(self, entry_id: str) -> None:
        super().__init__(
            f"An entry with the id {entry_id} already exists; leave it out or send another"
        )


class ContentTypeTaken(Taken):
    def __init__(self, slug: str) -> None:
        super().__init__(
            f"A content type with the slug '{slug}' already exists; "
            "choose another slug or revise that one"
        )


class KeyTaken(Taken):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"The key {name!r} cannot be issued: this workspace already has a key with this name, "
            "or another key has the same secret; choose others or revoke that key first"
        )


class WebhookTaken(Taken):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"A webhook {name!r} already exists in this workspace; choose another name"
        )


class WorkspaceTaken(Taken):
    def __init__(self, slug: str) -> None:
        super().__init__(f"A workspace {slug!r} already exists; choose another slug")


class ImportIdTaken(Taken):
    def __init__(self, import_id: str) -> None:
        super().__init__(
            f"The import id {import_id!r} was used for a different import; choose another id"
        )


class FileMismatch(Refused):
    def __init__(self, import_id: str, file_name: str) -> None:
        super().__init__(
            f"The import id {import_id!r} was used for another file, {file_name!r}: "
            "import this one under another id"
        )


class ContentTypeInUse(Refused):
    def __init__(self, slug: str) -> None:
        super().__init__(f"The content type '{slug}' still has entries; delete them first")


class PlanLimitReached(Refused):
    def __init__(self, limit: int, one: str, many: str = "") -> None:
        self.limit = limit
        super().__init__(
            f"Your plan's limit of {count(limit, one, many)} is reached; "
            "upgrade the plan or delete some to add more"
        )


class VersionConflict(Refused):
    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(
            f"The entry is at version {actual}, not {expected}: read it again and repeat the change"
        )


class CommandKeyReused(Refused):
    def __init__(self) -> None:
        super().__init__("This idempotency key was used for a different request; choose a new one")


class StaleDecision(ExplainedError):
    """The state that the command was decided on has changed; decide again on the new state."""


def shortened(text: str, longest: int = 100) -> str:
    """The text as messages quote it: what was sent may have megabytes. Invalid bytes of a header
    become lone surrogates, which JSON cannot represent."""
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= longest else text[:longest] + "…"


def count(n: int, one: str, many: str = "") -> str:
    """``1 entry``, ``2,000 entries``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def for_read_model(text: str, option: str) -> str:
    """The text, with the option added to the commands that it says to run. ``option``:
    " --read-model NAME", or "" for the default one."""
    return _ON_READ_MODEL.sub(lambda command: command[0] + option, text)


def first_few(items: Sequence[T], show: Callable[[T], str] = str) -> str:
    """``a, b, c, d, e and 2 more``"""
    more = len(items) - _FEW
    return ", ".join(map(show, items[:_FEW])) + (f" and {more:,} more" if more > 0 else "")


def in_words(names: Sequence[str], last: str = "or") -> str:
    """``a, b or c``"""
    *first, end = names
    return f"{', '.join(first)} {last} {end}" if first else end


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most similar to a mistyped one; None if none is similar."""
    found = get_close_matches(word, known, n=1) if len(word) <= _LONGEST_MISTYPED else []
    return found[0] if found else None
