"""Every event, in the past tense, and the closed registry of their topics.

A stored event never changes shape. A new shape is a new version of its topic and an upcaster from
the old one (``write_side/store/mapper.py``). Each event has its workspace and environment, its
actor, its time (UTC, cut to milliseconds), and the request it came from. The append gives the time,
by the event store's clock; it is a column of the log, not part of the stored event.

``traceparent`` is the W3C trace context of the request, if it is traced and sampled (ADR 56).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, get_args

from msgspec import UNSET, Raw, Struct, UnsetType

from write_side.domain.definition import Field, Stage
from write_side.domain.identity import BASE_LANGUAGE, Actor

Status = Literal["draft", "published", "archived"]
STATUSES: tuple[Status, ...] = get_args(Status)
ChangeKind = Literal[
    "entry.created",
    "entry.updated",
    "entry.published",
    "entry.unpublished",
    "entry.archived",
    "entry.deleted",
    "contentType.changed",
    "contentType.removed",
]
"""The kinds of changes in the change feed, and in webhooks."""
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
UNRECORDED = datetime.min.replace(tzinfo=UTC)
"""The time of an event that has not been appended yet."""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    workspace: str
    environment: str | None = None
    actor: Actor
    at: datetime = UNRECORDED
    request_id: str | None = None
    traceparent: str | None = None


class Plan(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The limits of a workspace. None is unlimited; for requests per minute it is 600 (§8)."""

    entries: int | None = None
    content_types: int | None = None
    requests_per_minute: int | None = None
    staging: bool = False


class WorkspaceCreated(Event, frozen=True, kw_only=True):
    """The production environment is created with it."""

    name: str
    plan: Plan


class WorkspaceRenamed(Event, frozen=True, kw_only=True):
    name: str


class PlanChanged(Event, frozen=True, kw_only=True):
    plan: Plan


class EnvironmentAdded(Event, frozen=True, kw_only=True):
    """``environment`` is the one that was added."""


class KeyIssued(Event, frozen=True, kw_only=True):
    """``secret_hash`` is the hex sha256 of the secret; the secret itself is not stored.

    ``key_environment`` None: the key works in all environments. ``expires_at`` None: it never
    expires.
    """

    key_id: str
    name: str
    permissions: tuple[str, ...]
    secret_hash: str
    key_environment: str | None = None
    expires_at: datetime | None = None


class KeyPermissionsChanged(Event, frozen=True, kw_only=True):
    """All permissions that the key has from now on, as in ``KeyIssued``."""

    key_id: str
    permissions: tuple[str, ...]
    key_environment: str | None = None
    expires_at: datetime | None = None


class KeyRevoked(Event, frozen=True, kw_only=True):
    key_id: str


class ContentTypeCreated(Event, frozen=True, kw_only=True):
    content_type_id: str
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...] = ()


class ContentTypeRevised(Event, frozen=True, kw_only=True):
    """The whole new definition."""

    content_type_id: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...] = ()


class ContentTypeRemoved(Event, frozen=True, kw_only=True):
    content_type_id: str


class Translation(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An entry's texts in one locale; the slug is never translated (behaviour.md §2.1).

    In an event, ``title`` None changes nothing and "" removes the translated title; null and ""
    remove the translation of a field.
    """

    title: str | None = None
    fields: dict[str, Raw] = {}


class EntryCreated(Event, frozen=True, kw_only=True):
    """``fields`` are the values by field slug, exactly as sent."""

    entry_id: str
    content_type_id: str
    slug: str
    title: str
    language: str
    status: Status = "draft"
    stage_id: str | None = None
    fields: dict[str, Raw] = {}
    translations: dict[str, Translation] = {}


class EntryUpdated(Event, frozen=True, kw_only=True):
    """Only what changed. One command makes one event for all its changes.

    ``fields`` and the fields of ``translations`` are merged by slug; a null value empties one.
    """

    entry_id: str
    content_type_id: str
    title: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    stage_id: str | UnsetType | None = UNSET
    fields: dict[str, Raw] = {}
    translations: dict[str, Translation] = {}

    @property
    def changes_anything(self) -> bool:
        attributes = (self.title, self.slug, self.status, self.stage_id)
        return bool(self.fields or self.translations) or any(one is not UNSET for one in attributes)


class EntryDeleted(Event, frozen=True, kw_only=True):
    entry_id: str
    content_type_id: str


class MediaDescribed(Event, frozen=True, kw_only=True):
    """What a media file is from now on."""

    media_id: str
    url: str
    name: str
    content_type: str


class MediaAdded(MediaDescribed, frozen=True, kw_only=True):
    pass


class MediaChanged(MediaDescribed, frozen=True, kw_only=True):
    pass


class MediaRemoved(Event, frozen=True, kw_only=True):
    media_id: str


class WebhookDefined(Event, frozen=True, kw_only=True):
    """All that the endpoint is from now on. ``webhook_environment``: whose changes are delivered.
    Empty ``types`` or ``events``: all. The signing secret is never in the log."""

    name: str
    url: str
    webhook_environment: str
    types: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    include_entry: bool = False


class WebhookCreated(WebhookDefined, frozen=True, kw_only=True):
    pass


class WebhookChanged(WebhookDefined, frozen=True, kw_only=True):
    pass


class WebhookRemoved(Event, frozen=True, kw_only=True):
    name: str


class WebhookSwitchedOff(Event, frozen=True, kw_only=True):
    name: str
    reason: str


class WebhookSwitchedOn(Event, frozen=True, kw_only=True):
    """Deliveries continue after the last change that was delivered."""

    name: str


class WebhookSecretRotated(Event, frozen=True, kw_only=True):
    """The endpoint has a new signing secret."""

    name: str


RowOutcome = Literal["new", "updated", "unchanged", "skipped", "error"]


class ImportedRow(Struct, frozen=True, array_like=True):
    """The outcome of a row of the file, numbered as in a spreadsheet; ``note`` says why it was not
    imported."""

    number: int
    outcome: RowOutcome
    entry_id: str | None = None
    slug: str = ""
    note: str = ""


class ImportRecorded(Event, frozen=True, kw_only=True):
    """One import. The events of its rows follow it in the log; ``created`` and ``updated`` count
    them. ``by`` is the user who imported; ``fingerprint`` is that of the file's content and,
    if the file was split, of the import's options."""

    import_id: str
    content_type_id: str
    file_name: str
    language: str = BASE_LANGUAGE
    by: Actor | None = None
    created: int
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    rows: tuple[ImportedRow, ...] = ()
    fingerprint: str = ""


class RevertedEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The outcome of a revert for an entry; ``at`` and ``by`` are those of a later change that
    prevented it."""

    entry_id: str
    slug: str
    outcome: Literal["deleted", "restored", "changed", "gone"]
    at: datetime | None = None
    by: Actor | None = None


class ImportReverted(Event, frozen=True, kw_only=True):
    """A reverted import. The events of the revert follow it in the log; ``deleted`` and
    ``restored`` count them. Entries that were changed or deleted since are not touched."""

    import_id: str
    content_type_id: str
    deleted: int = 0
    restored: int = 0
    entries: tuple[RevertedEntry, ...] = ()


class MappedColumn(Struct, frozen=True, array_like=True):
    """``target``: Title, Slug, Status, a field's slug, or nothing."""

    heading: str
    target: str


class ImportMappingSaved(Event, frozen=True, kw_only=True):
    """How the columns of files are mapped to a content type in later imports."""

    content_type_id: str
    columns: tuple[MappedColumn, ...]


EntryEvent = EntryCreated | EntryUpdated | EntryDeleted
ContentTypeEvent = ContentTypeCreated | ContentTypeRevised | ContentTypeRemoved
WorkspaceEvent = WorkspaceCreated | WorkspaceRenamed | PlanChanged | EnvironmentAdded
KeyEvent = KeyIssued | KeyPermissionsChanged | KeyRevoked
WebhookEvent = (
    WebhookCreated
    | WebhookChanged
    | WebhookRemoved
    | WebhookSwitchedOff
    | WebhookSwitchedOn
    | WebhookSecretRotated
)
MediaEvent = MediaAdded | MediaChanged | MediaRemoved

TOPICS: dict[str, type[Event]] = {
    "workspace.created.v1": WorkspaceCreated,
    "workspace.renamed.v1": WorkspaceRenamed,
    "workspace.plan_changed.v1": PlanChanged,
    "workspace.environment_added.v1": EnvironmentAdded,
    "key.issued.v1": KeyIssued,
    "key.permissions_changed.v1": KeyPermissionsChanged,
    "key.revoked.v1": KeyRevoked,
    "content_type.created.v1": ContentTypeCreated,
    "content_type.revised.v1": ContentTypeRevised,
    "content_type.removed.v1": ContentTypeRemoved,
    "entry.created.v1": EntryCreated,
    "entry.updated.v1": EntryUpdated,
    "entry.deleted.v1": EntryDeleted,
    "media.added.v1": MediaAdded,
    "media.changed.v1": MediaChanged,
    "media.removed.v1": MediaRemoved,
    "webhook.created.v1": WebhookCreated,
    "webhook.changed.v1": WebhookChanged,
    "webhook.removed.v1": WebhookRemoved,
    "webhook.switched_off.v1": WebhookSwitchedOff,
    "webhook.switched_on.v1": WebhookSwitchedOn,
    "webhook.secret_rotated.v1": WebhookSecretRotated,
    "import.recorded.v1": ImportRecorded,
    "import.reverted.v1": ImportReverted,
    "import.mapping_saved.v1": ImportMappingSaved,
}
"""The current version of every topic."""
