"""All live keys of the installation in memory, with the plans of their workspaces."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from write_side.domain.events import Plan
from write_side.domain.workspace import Workspace


class Caller(Struct, frozen=True):
    """A live key and its workspace."""

    key_id: str
    key_name: str
    workspace: str
    permissions: frozenset[str]
    plan: Plan
    environments: tuple[str, ...]


def secret_of(headers: Mapping[str, str]) -> str:
    """``Authorization: Bearer`` takes precedence over ``X-API-Key`` (readings.md)."""
    authorization = headers.get("Authorization")
    if authorization is None:
        return headers.get("X-API-Key", "")
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


class HeldKey(Struct, frozen=True, gc=False):
    """``digest``: the hexadecimal SHA-256 of its secret."""

    id: str
    name: str
    workspace: str
    digest: str
    permissions: frozenset[str]


# Unknown keys are compared with this one, so that they take as long as known ones.
NO_KEY = HeldKey("", "", "", "0" * 64, frozenset())


class Keys:
    def __init__(self) -> None:
        self._by_digest: dict[str, HeldKey] = {}
        self._digests: dict[str, str] = {}
        self._workspaces: dict[str, Workspace] = {}

    def __len__(self) -> int:
        return len(self._by_digest)

    def caller(self, digest: str) -> Caller | None:
        """The caller whose key has the digest, compared in constant time."""
        key = self._by_digest.get(digest, NO_KEY)
        if not hmac.compare_digest(key.digest, digest):
            return None
        workspace = self._workspaces[key.workspace]
        return Caller(
            key_id=key.id,
            key_name=key.name,
            workspace=key.workspace,
            permissions=key.permissions,
            plan=workspace.plan,
            environments=workspace.environments,
        )

    def caller_of_key(self, key_id: str) -> Caller | None:
        return self.caller(self._digests.get(key_id, ""))

    def has_workspace(self, slug: str) -> bool:
        return slug in self._workspaces

    def put_workspace(self, workspace: Workspace) -> None:
        """Call it before the first of its keys."""
        self._workspaces[workspace.slug] = workspace

    def put(self, key: HeldKey) -> None:
        self._by_digest[key.digest] = key
        self._digests[key.id] = key.digest

    def remove(self, key_id: str) -> None:
        """Removes a revoked key; another key may have its secret by now."""
        digest = self._digests.pop(key_id, "")
        if self._by_digest.get(digest, NO_KEY).id == key_id:
            del self._by_digest[digest]


@cache
def _permissions(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names)


def permissions(names: Sequence[str]) -> frozenset[str]:
    """Keys with the same permissions share one set, to save memory."""
    return _permissions(tuple(names))
