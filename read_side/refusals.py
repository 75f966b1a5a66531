"""What the read side refuses.

NotFound
├── TypeNotFound
├── EntryNotFound
└── MediaFileNotFound
InvalidQuery ── TooBroad
IncompleteIndex

``ReadModelUnavailable`` is not a refusal: the same read may succeed a moment later.
"""

from __future__ import annotations


class NotFound(Exception):
    """Nothing with that name exists in this workspace and environment."""


class ReadModelUnavailable(Exception):
    """PostgreSQL did not respond. Logs show the cause."""

    def __repr__(self) -> str:
        return f"ReadModelUnavailable({self.__cause__!r})"


class TypeNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("Content type not found")


class EntryNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("Content entry not found")


class MediaFileNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("Media file not found")


class InvalidQuery(Exception):
    """A filter or a sort key that the list does not have, or a value that it does not take."""


class TooBroad(InvalidQuery):
    """The query would read more than a request may."""


class IncompleteIndex(Exception):
    """A field became indexed or searchable, and the index does not have all entries yet."""

    def __init__(self, path: str) -> None:
        super().__init__(f"The index of '{path}' is being filled, please retry in a while")
