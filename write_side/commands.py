"""The commands of the write side, in the imperative.

They share no base class with the events, even where the fields are the same: a command may change
its shape, an event may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from write_side import tracing
from write_side.domain.definition import Field, Stage
from write_side.domain.events import ImportedRow, MappedColumn, Plan, Status, Translation
from write_side.domain.identity import BASE_LANGUAGE, Actor, Scope, new_id


class Command(Struct, frozen=True, kw_only=True):
    """``command_key`` makes it safe to send the command again; ``digest`` is that of its
    request. ``traceparent``: of the span that is current when it is made."""

    actor: Actor
    request_id: str | None = None
    traceparent: str | None = msgspec.field(default_factory=tracing.context)
    command_key: str = msgspec.field(default_factory=new_id)
    digest: bytes = b""

    @property
    def key(self) -> str:
        """The key under which the log records the command."""
        return self.command_key


class WorkspaceCommand(Command, frozen=True, kw_only=True):
    workspace: str


class ScopedCommand(Command, frozen=True, kw_only=True):
    scope: Scope


class EntryCommand(ScopedCommand, frozen=True, kw_only=True):
    """A command that changes an existing entry."""

    entry_id: str


class ImportCommand(ScopedCommand, frozen=True, kw_only=True):
    """A command that is executed once per import id, even if it is sent again with other content.

    Its handler finds the earlier outcome, because command keys are shared by all workspaces and one
    workspace must not see the imports of another. ``digest`` is unique, which distinguishes an
    append whose acknowledgement was lost from an append by another request.
    """

    import_id: str
    digest: bytes = msgspec.field(default_factory=lambda: new_id().encode())


class CreateWorkspace(WorkspaceCommand, frozen=True, kw_only=True):
    name: str
    plan: Plan = Plan()


class RenameWorkspace(WorkspaceCommand, frozen=True, kw_only=True):
    name: str


class ChangePlan(WorkspaceCommand, frozen=True, kw_only=True):
    plan: Plan


class AddEnvironment(ScopedCommand, frozen=True, kw_only=True):
    """Adds the environment of the scope to its workspace."""


class IssueKey(WorkspaceCommand, frozen=True, kw_only=True):
    """``environment``: as ``key_environment`` of ``KeyIssued``."""

    name: str
    permissions: tuple[str, ...]
    secret_hash: str
    environment: str | None = None
    expires_at: datetime | None = None


class PermitKey(WorkspaceCommand, frozen=True, kw_only=True):
    """All permissions that the key has from now on."""

    name: str
    permissions: tuple[str, ...]
    environment: str | None = None
    expires_at: datetime | None = None


class RevokeKey(WorkspaceCommand, frozen=True, kw_only=True):
    name: str


class DefineContentType(ScopedCommand, frozen=True, kw_only=True):
    """A complete definition."""

    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...] = ()


class CreateContentType(DefineContentType, frozen=True, kw_only=True):
    pass


class ReviseContentType(DefineContentType, frozen=True, kw_only=True):
    """The slug and type of a field never change."""


class RemoveContentType(ScopedCommand, frozen=True, kw_only=True):
    slug: str


class PutMedia(WorkspaceCommand, frozen=True, kw_only=True):
    """Adds a file to the workspace's media library, or changes its URL, name or type."""

    media_id: str
    url: str
    name: str
    content_type: str


class RemoveMedia(WorkspaceCommand, frozen=True, kw_only=True):
    media_id: str


class DefineWebhook(WorkspaceCommand, frozen=True, kw_only=True):
    """A complete definition, as in ``WebhookDefined``."""

    name: str
    url: str
    environment: str
    types: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    include_entry: bool = False


class CreateWebhook(DefineWebhook, frozen=True, kw_only=True):
    """``secret``: ``whsec_…``; it is stored beside the log."""

    secret: str


class ChangeWebhook(DefineWebhook, frozen=True, kw_only=True):
    pass


class RemoveWebhook(WorkspaceCommand, frozen=True, kw_only=True):
    name: str


class SwitchWebhookOff(WorkspaceCommand, frozen=True, kw_only=True):
    """``changed_at``: of the endpoint that failed. It stays on if it has changed since."""

    name: str
    reason: str
    changed_at: datetime | None = None


class SwitchWebhookOn(WorkspaceCommand, frozen=True, kw_only=True):
    name: str


class RotateWebhookSecret(WorkspaceCommand, frozen=True, kw_only=True):
    """The old secret signs too for a day, unless it ``expires`` at once."""

    name: str
    secret: str
    expires: bool = False


class CreateEntry(ScopedCommand, frozen=True, kw_only=True):
    """``fields``: values by field slug, minified JSON (``domain.text.minified``)."""

    content_type_slug: str
    title: str
    slug: str | None = None
    fields: dict[str, Raw] = {}
    status: Status = "draft"
    language: str = BASE_LANGUAGE
    stage_id: str | None = None
    translations: dict[str, Translation] = {}
    entry_id: str | None = None


class UpdateEntry(EntryCommand, frozen=True, kw_only=True):
    """Changes only the given values. Any status may follow any other.

    In a translation, None keeps the title and "" removes a text. ``restored``: the values of an
    earlier version, if the update restores it.
    """

    title: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    stage_id: str | UnsetType | None = UNSET
    fields: dict[str, Raw] = {}
    translations: dict[str, Translation] = {}
    expected_version: int | None = None
    restored: Mapping[str, Raw] = {}


class DeleteEntry(EntryCommand, frozen=True, kw_only=True):
    expected_version: int | None = None


class ImportEntries(ImportCommand, frozen=True, kw_only=True):
    """Creates and updates entries of one type: all of them or none.

    ``rows`` and the counts are recorded unchanged; ``by`` is the user who requested the import.
    ``fingerprint``: of the file's content, so that the import id is not used for another file.
    """

    content_type_slug: str
    file_name: str
    entries: Sequence[CreateEntry | UpdateEntry]
    language: str = BASE_LANGUAGE
    by: Actor | None = None
    rows: tuple[ImportedRow, ...] = ()
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    fingerprint: str = ""

    @property
    def key(self) -> str:
        return f"import/{self.import_id}"


class RevertImport(ImportCommand, frozen=True, kw_only=True):
    """Deletes the entries that an import created and restores those it updated, unless they have
    changed since."""

    @property
    def key(self) -> str:
        return f"revert/{self.import_id}"


class SaveImportMapping(ScopedCommand, frozen=True, kw_only=True):
    """The column mapping to propose for the next file of a content type."""

    content_type_slug: str
    columns: tuple[MappedColumn, ...]
