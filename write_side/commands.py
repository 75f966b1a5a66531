"""What may be asked of the write side, in the imperative."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from write_side.domain.definition import Field, Stage
from write_side.domain.events import ImportedRow, MappedColumn, Plan, Status, Translation
from write_side.domain.identity import BASE_LANGUAGE, Actor, Scope, new_id


class Command(Struct, frozen=True, kw_only=True):
    """``command_key`` makes sending a command again harmless; ``digest`` is of its request."""

    actor: Actor
    request_id: str | None = None
    command_key: str = msgspec.field(default_factory=new_id)
    digest: bytes = b""

    @property
    def key(self) -> str:
        """What the log remembers the command by."""
        return self.command_key


def _sending() -> bytes:
    """What tells one sending from another, where both have the same key."""
    return new_id().encode()


class CreateWorkspace(Command, frozen=True, kw_only=True):
    workspace: str
    name: str
    plan: Plan = Plan()


class RenameWorkspace(Command, frozen=True, kw_only=True):
    workspace: str
    name: str


class ChangePlan(Command, frozen=True, kw_only=True):
    workspace: str
    plan: Plan


class AddEnvironment(Command, frozen=True, kw_only=True):
    scope: Scope


class IssueKey(Command, frozen=True, kw_only=True):
    """``secret_hash``: hex sha256 of the secret, which is for its owner alone."""

    workspace: str
    name: str
    permissions: tuple[str, ...]
    secret_hash: str


class PermitKey(Command, frozen=True, kw_only=True):
    workspace: str
    name: str
    permissions: tuple[str, ...]


class RevokeKey(Command, frozen=True, kw_only=True):
    workspace: str
    name: str


class CreateContentType(Command, frozen=True, kw_only=True):
    scope: Scope
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...] = ()


class ReviseContentType(Command, frozen=True, kw_only=True):
    """The whole definition as it shall be. A field keeps its slug and type for life."""

    scope: Scope
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...] = ()


class RemoveContentType(Command, frozen=True, kw_only=True):
    scope: Scope
    slug: str


class PutMedia(Command, frozen=True, kw_only=True):
    """Adds a file to the workspace's media library, or changes what is known of it."""

    workspace: str
    media_id: str
    url: str
    name: str
    content_type: str


class RemoveMedia(Command, frozen=True, kw_only=True):
    workspace: str
    media_id: str


class CreateEntry(Command, frozen=True, kw_only=True):
    """``fields``: values by field slug, minified JSON (``domain.text.minified``)."""

    scope: Scope
    content_type_slug: str
    title: str
    slug: str | None = None
    fields: dict[str, Raw] = {}
    status: Status = "draft"
    language: str = BASE_LANGUAGE
    stage_id: str | None = None
    translations: dict[str, Translation] = {}
    entry_id: str | None = None


class UpdateEntry(Command, frozen=True, kw_only=True):
    """Changes what is given and nothing else. Any status may follow any other."""

    scope: Scope
    entry_id: str
    title: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    stage_id: str | UnsetType | None = UNSET
    fields: dict[str, Raw] = {}
    translations: dict[str, Translation] = {}
    expected_version: int | None = None


class TranslateEntry(Command, frozen=True, kw_only=True):
    """Texts of an entry in one locale; None leaves the title, "" takes a text back."""

    scope: Scope
    entry_id: str
    locale: str
    title: str | None = None
    fields: dict[str, Raw] = {}


class ChangeStatus(Command, frozen=True, kw_only=True):
    scope: Scope
    entry_id: str
    status: Status


class MoveToStage(Command, frozen=True, kw_only=True):
    scope: Scope
    entry_id: str
    stage_id: str


class DeleteEntry(Command, frozen=True, kw_only=True):
    scope: Scope
    entry_id: str
    expected_version: int | None = None


class ImportEntries(Command, frozen=True, kw_only=True):
    """New and changed entries of one type as one unit: all of them or none, and once for an import
    id. ``rows`` and what follows are recorded as they are; ``by`` is who asked for it."""

    scope: Scope
    content_type_slug: str
    import_id: str
    file_name: str
    entries: Sequence[CreateEntry | UpdateEntry]
    language: str = BASE_LANGUAGE
    by: Actor | None = None
    rows: tuple[ImportedRow, ...] = ()
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    digest: bytes = msgspec.field(default_factory=_sending)

    @property
    def key(self) -> str:
        return f"import/{self.import_id}"


class RevertImport(Command, frozen=True, kw_only=True):
    """Deletes what an import made and takes back what it changed, where it is unchanged since."""

    scope: Scope
    import_id: str
    digest: bytes = msgspec.field(default_factory=_sending)

    @property
    def key(self) -> str:
        return f"revert/{self.import_id}"


class SaveImportMapping(Command, frozen=True, kw_only=True):
    """How the columns of files are mapped for a content type, to be proposed from now on."""

    scope: Scope
    content_type_slug: str
    columns: tuple[MappedColumn, ...]
