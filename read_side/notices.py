"""The projector's notices to readers of the live read model: which checkpoint follows which, and
what changed between the two (ADR 38)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from read_side.changes import ChangeRecord
from write_side.domain.identity import Scope

CHANNEL = "contentlog_projected"
MOST_BYTES = 7_900
"""The longest notice; PostgreSQL takes less than 8,000 bytes."""
MOST_FED = 16
"""Changes in a notice. To read more of them at once costs less for each."""

Dependency = str | tuple[str, ...]
"""Something that responses are made of and that may change: an entry, by its id, or a group, by its
names."""


class TypeChange(Struct, frozen=True, array_like=True):
    """The changes of a content type and its entries.

    ``statuses``: of the entries that changed, before and after. ``entries``: the ids of those that
    were updated or deleted; None stands for any entry and for the definition itself.
    """

    workspace: str
    environment: str
    type_slug: str
    statuses: tuple[str, ...]
    entries: tuple[str, ...] | None

    def dependencies(self) -> Iterator[Dependency]:
        scope = Scope(self.workspace, self.environment)
        yield from lists(scope, self.type_slug, self.statuses)
        yield from lists(scope, None, self.statuses)
        if self.entries is None:
            yield singles_of_type(scope, self.type_slug)
            yield content_types(scope)
        else:
            yield from self.entries


class FedChange(Struct, frozen=True, array_like=True):
    """A new change in the feed of an environment."""

    workspace: str
    environment: str
    change: ChangeRecord


class Notice(Struct, frozen=True, kw_only=True):
    """The checkpoint moved from ``after`` to ``position``; ``changed`` is None for everything.

    ``media``: the workspaces whose media libraries changed. ``fed``: the new changes in the feed;
    None if they must be read.
    """

    epoch: int
    after: int = msgspec.field(name="from")
    position: int = msgspec.field(name="to")
    changed: tuple[TypeChange, ...] | None = None
    media: tuple[str, ...] = ()
    fed: tuple[FedChange, ...] | None = None

    def encoded(self) -> str:
        """JSON within MOST_BYTES: as precise as fits."""
        for notice in self._shorter_forms():
            encoded = _encode(notice)
            if len(encoded) <= MOST_BYTES:
                break
        return encoded.decode()

    def _shorter_forms(self) -> Iterator[Notice]:
        yield self
        shorter = replace(self, fed=None)
        yield shorter
        changed = (replace(change, entries=None) for change in self.changed or ())
        yield replace(shorter, changed=None if self.changed is None else tuple(changed))
        yield replace(shorter, changed=None, media=())

    def environments(self) -> dict[Scope, list[ChangeRecord] | None]:
        """The environments that changed, unless everything did, with the changes in their feeds."""
        fed: dict[Scope, list[ChangeRecord]] = {}
        for one in self.fed or ():
            fed.setdefault(Scope(one.workspace, one.environment), []).append(one.change)
        scopes = (Scope(one.workspace, one.environment) for one in self.changed or ())
        return {scope: None if self.fed is None else fed.get(scope, []) for scope in scopes}

    def dependencies(self) -> Iterator[Dependency]:
        """What changed, unless everything did."""
        for change in self.changed or ():
            yield from change.dependencies()
        yield from map(media_library, self.media)


_encode = msgspec.json.Encoder().encode
decode_notice = msgspec.json.Decoder(Notice).decode


def lists(scope: Scope, type_slug: str | None, statuses: Iterable[str]) -> tuple[Dependency, ...]:
    """Lists of the entries of a type, or of all types: a group for each status."""
    return tuple((scope.workspace, scope.environment, type_slug or "", one) for one in statuses)


def singles_of_type(scope: Scope, type_slug: str) -> Dependency:
    """Single entries of a type, besides the entries themselves."""
    return (scope.workspace, scope.environment, type_slug)


def content_types(scope: Scope) -> Dependency:
    return (scope.workspace, scope.environment)


def media_library(workspace: str) -> Dependency:
    return (workspace,)
