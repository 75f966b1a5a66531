"""Why an append failed.

Conflict ── StaleAppend, ContentTypeConflict, ContentTypeNotEmpty, KeyConflict, LimitConflict
└── ClaimConflict ── IdConflict, SlugConflict
StoreUnavailable
"""

from __future__ import annotations

from write_side.domain.refusals import ExplainedError


class Conflict(ExplainedError):
    """The append was refused because of a claim or a version and changed nothing."""


class StaleAppend(Conflict):
    """A stream, a content type or a claim has changed since the command was decided."""


class ClaimConflict(Conflict):
    """``claim``: the first of the command's claims, counted from 0, that was taken."""

    def __init__(self, claim: int = 0) -> None:
        self.claim = claim
        super().__init__(f"claim {claim}")


class IdConflict(ClaimConflict):
    """The entry id is, or was, the id of an entry."""


class SlugConflict(ClaimConflict):
    """The slug is claimed within its type and language."""


class ContentTypeConflict(Conflict):
    """The content type's slug is claimed within its environment."""


class ContentTypeNotEmpty(Conflict):
    """The content type still has entries."""


class KeyConflict(Conflict):
    """A live key of the workspace has the name, or a live key has the secret."""


class LimitConflict(Conflict):
    def __init__(self, quota: str, bound: int) -> None:
        self.quota = quota
        self.bound = bound
        super().__init__(f"{quota}: {bound}")


class StoreUnavailable(ExplainedError):
    """PostgreSQL did not respond in time. Only sending the append again, under the same command
    key, shows whether it happened."""


_CONFLICTS: dict[str, type[Conflict]] = {
    "stale": StaleAppend,
    "content_type_taken": ContentTypeConflict,
    "content_type_in_use": ContentTypeNotEmpty,
    "key_taken": KeyConflict,
    "id_taken": IdConflict,
    "slug_taken": SlugConflict,
}
REFUSED = "CL001"


def conflict(outcome: str, detail: str) -> Conflict:
    """The exception for an outcome of ``write_side.append``."""
    if outcome == "plan_limit":
        quota, _, bound = detail.partition(":")
        return LimitConflict(quota, int(bound))
    kind = _CONFLICTS[outcome]
    return kind(int(detail or 1) - 1) if issubclass(kind, ClaimConflict) else kind()
