"""What the read side refuses.

NotFound
├── TypeNotFound
├── EntryNotFound
└── MediaFileNotFound

``ReadModelUnavailable`` is not a refusal: the same read may succeed a moment later.
"""

from __future__ import annotations


class NotFound(Exception):
    """Nothing with that name exists in this workspace and environment."""


class ReadModelUnavailable(Exception):
    """PostgreSQL did not respond."""


class TypeNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("Content type not found")


class EntryNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("Content entry not found")


class MediaFileNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("Media file not found")
