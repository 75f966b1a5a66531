"""The kinds of changes in the change feed."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "entry.created",
    "entry.updated",
    "entry.published",
    "entry.unpublished",
    "entry.archived",
    "entry.deleted",
    "contentType.changed",
    "contentType.removed",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
