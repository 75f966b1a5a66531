"""The decoded form of each golden fixture, tests/fixtures/events/<topic>.json."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from write_side.domain import events as e
from write_side.domain.definition import Field, Option, Stage
from write_side.domain.identity import Actor

AT = datetime(2026, 1, 31, 9, 30, 0, 125000, tzinfo=UTC)
KEY = Actor("key", "018f0000-0000-7000-8000-00000000000c", "website")
IMPORT = Actor("import", "spring", "ann")
OPERATOR = Actor("operator", "ann")
REQUEST = "req-1"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
POSTS = "018f0000-0000-7000-8000-0000000000aa"
ENTRY = "018f0000-0000-7000-8000-000000000001"
OTHER_ENTRY, THIRD_ENTRY, FOURTH_ENTRY = (f"{ENTRY[:-1]}{n}" for n in (2, 3, 4))
SECRET_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

FIELDS = (
    Field("intro", "Intro", "section"),
    Field("body", "Body ✎", "rich_text", required=True),
    Field("campaign", "Campaign", "datetime", range=True),
    Field(
        "tags",
        "Tags",
        "select",
        multiple=True,
        options=(Option("news", "News"), Option("howto", "How-to")),
    ),
    Field("author", "Author", "reference", to=("authors", "teams")),
    Field(
        "faq",
        "FAQ",
        "repeater",
        fields=(Field("q", "Question", "text", required=True), Field("n", "N", "number")),
    ),
)
STAGES = (Stage("writing", "Writing"), Stage("review", "Review"))
VALUES = {
    "body": Raw(b'"<p>Caf\\u00e9 \xe2\x98\x95</p>"'),
    "views": Raw(b"1.10"),
    "big": Raw(b"123456789012345678901234567890"),
    "meta": Raw(b'{"_type_":"x","_data_":[1,{"$ref":"#/a"}],"__class__":null,"a":1,"a":2}'),
    "faq": Raw(b'[{"q":"Why?","n":-0}]'),
    "gone": Raw(b"null"),
}
FRENCH = e.Translation("Bonjour", {"body": Raw('"Café"'.encode())})
TAKEN_BACK = e.Translation("", {"body": Raw(b"null")})


def by(actor: Actor, environment: str = "production") -> Any:
    """Returns the properties of every event."""
    return {
        "workspace": "acme",
        "environment": environment,
        "actor": actor,
        "at": AT,
        "request_id": REQUEST,
        "traceparent": TRACE,
    }


EXPECTED: dict[str, e.Event] = {
    "workspace.created.v1": e.WorkspaceCreated(
        **by(OPERATOR),
        name="Acme",
        plan=e.Plan(entries=5000, content_types=20, requests_per_minute=60, staging=True),
    ),
    "workspace.renamed.v1": e.WorkspaceRenamed(
        **by(OPERATOR),
        name="Acme Ltd",
    ),
    "workspace.plan_changed.v1": e.PlanChanged(
        **by(OPERATOR),
        plan=e.Plan(entries=0),
    ),
    "workspace.environment_added.v1": e.EnvironmentAdded(
        **by(OPERATOR, "staging"),
    ),
    "key.issued.v1": e.KeyIssued(
        **by(OPERATOR),
        key_id=KEY.id,
        name="website",
        permissions=("content.view", "content.edit"),
        secret_hash=SECRET_HASH,
        key_environment="staging",
        expires_at=AT,
    ),
    "key.permissions_changed.v1": e.KeyPermissionsChanged(
        **by(OPERATOR),
        key_id=KEY.id,
        permissions=("content.view",),
        key_environment="staging",
        expires_at=AT,
    ),
    "key.revoked.v1": e.KeyRevoked(
        **by(OPERATOR),
        key_id=KEY.id,
    ),
    "content_type.created.v1": e.ContentTypeCreated(
        **by(OPERATOR),
        content_type_id=POSTS,
        slug="posts",
        name="Posts",
        fields=FIELDS,
        stages=STAGES,
    ),
    "content_type.revised.v1": e.ContentTypeRevised(
        **by(OPERATOR),
        content_type_id=POSTS,
        name="Articles",
        fields=(FIELDS[0], replace(FIELDS[1], indexed=True, searchable=True)),
        stages=STAGES[:1],
    ),
    "content_type.removed.v1": e.ContentTypeRemoved(
        **by(OPERATOR),
        content_type_id=POSTS,
    ),
    "entry.created.v1": e.EntryCreated(
        **by(IMPORT, "staging"),
        entry_id=ENTRY,
        content_type_id=POSTS,
        slug="hello--world-",
        title="Hello, World!",
        language="en-GB",
        status="published",
        stage_id="writing",
        fields=VALUES,
        translations={"fr-FR": FRENCH},
    ),
    "entry.updated.v1": e.EntryUpdated(
        **by(KEY),
        entry_id=ENTRY,
        content_type_id=POSTS,
        title="Grüße 🎉",
        slug="grüße",
        status="archived",
        stage_id=None,
        fields=VALUES,
        translations={"fr-FR": TAKEN_BACK},
    ),
    "entry.deleted.v1": e.EntryDeleted(
        **by(KEY),
        entry_id=ENTRY,
        content_type_id=POSTS,
    ),
    "media.added.v1": e.MediaAdded(
        **by(OPERATOR),
        media_id="hero",
        url="https://cdn.example.com/hero.png",
        name="hero.png",
        content_type="image/png",
    ),
    "media.changed.v1": e.MediaChanged(
        **by(OPERATOR),
        media_id="hero",
        url="https://cdn.example.com/hero-2.webp",
        name="hero-2.webp",
        content_type="image/webp",
    ),
    "media.removed.v1": e.MediaRemoved(
        **by(OPERATOR),
        media_id="hero",
    ),
    "webhook.created.v1": e.WebhookCreated(
        **by(OPERATOR),
        name="search",
        url="https://search.example.com/hook",
        webhook_environment="production",
        types=("posts",),
        events=("entry.published", "entry.deleted"),
        include_entry=True,
    ),
    "webhook.changed.v1": e.WebhookChanged(
        **by(OPERATOR),
        name="search",
        url="https://search.example.com/hook?v=2",
        webhook_environment="staging",
        types=("authors", "posts"),
        events=("contentType.changed",),
        include_entry=True,
    ),
    "webhook.removed.v1": e.WebhookRemoved(
        **by(OPERATOR),
        name="search",
    ),
    "webhook.switched_off.v1": e.WebhookSwitchedOff(
        **by(OPERATOR),
        name="search",
        reason="the endpoint answered 410 Gone",
    ),
    "webhook.switched_on.v1": e.WebhookSwitchedOn(
        **by(OPERATOR),
        name="search",
    ),
    "webhook.secret_rotated.v1": e.WebhookSecretRotated(
        **by(OPERATOR),
        name="search",
    ),
    "import.recorded.v1": e.ImportRecorded(
        **by(IMPORT),
        import_id="spring",
        content_type_id=POSTS,
        file_name="Frühling.csv",
        language="fr-FR",
        by=KEY,
        created=1,
        updated=1,
        unchanged=1,
        skipped=1,
        failed=1,
        rows=(
            e.ImportedRow(2, "new", ENTRY, "été"),
            e.ImportedRow(3, "updated", OTHER_ENTRY, "b"),
            e.ImportedRow(4, "unchanged", ENTRY, "été"),
            e.ImportedRow(6, "skipped", OTHER_ENTRY, "b"),
            e.ImportedRow(7, "error", None, "c", "Views: 'many' takes a number"),
        ),
        fingerprint="5f16",
    ),
    "import.reverted.v1": e.ImportReverted(
        **by(KEY),
        import_id="spring",
        content_type_id=POSTS,
        deleted=1,
        restored=1,
        entries=(
            e.RevertedEntry(ENTRY, "été", "deleted"),
            e.RevertedEntry(OTHER_ENTRY, "b", "restored"),
            e.RevertedEntry(THIRD_ENTRY, "c", "changed", AT, OPERATOR),
            e.RevertedEntry(FOURTH_ENTRY, "d", "gone", AT, KEY),
        ),
    ),
    "import.mapping_saved.v1": e.ImportMappingSaved(
        **by(KEY),
        content_type_id=POSTS,
        columns=(e.MappedColumn("Titre", "Title"), e.MappedColumn("Prix", "")),
    ),
}
