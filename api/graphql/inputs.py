"""The inputs of mutations, and the commands that they become.

An absent value changes nothing; an empty slug counts as absent. An explicit null empties a field,
removes a translated text, or moves an entry to its first stage; a title, slug or status cannot be
null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import strawberry
from msgspec import UNSET, Raw

from api.errors import BadRequest
from api.graphql.scalars import JSON
from api.graphql.types import EntryStatus
from api.rest.content import FIELDS, MISSING
from api.rest.request_body import json_object
from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.events import Translation
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.text import minified


@strawberry.input(description='Texts in one locale. Null or "" removes the translation of a text.')
class TranslationInput:
    locale: str
    title: str | None = strawberry.UNSET
    fields: JSON | None = strawberry.UNSET


@strawberry.input(
    description="Without a slug, the entry gets one from its title. "
    "`fields` are values by field slug; unknown fields are ignored."
)
class CreateContentEntryInput:
    content_type_slug: str
    title: str
    slug: str | None = strawberry.UNSET
    fields: JSON | None = strawberry.UNSET
    status: EntryStatus | None = EntryStatus.draft
    language: str | None = strawberry.UNSET
    stage_id: strawberry.ID | None = strawberry.UNSET
    translations: list[TranslationInput] | None = strawberry.UNSET


@strawberry.input(
    description="Changes only what is given. `fields` are merged by slug; null empties a field."
)
class UpdateContentEntryInput:
    title: str | None = strawberry.UNSET
    slug: str | None = strawberry.UNSET
    fields: JSON | None = strawberry.UNSET
    status: EntryStatus | None = strawberry.UNSET
    stage_id: strawberry.ID | None = strawberry.UNSET
    translations: list[TranslationInput] | None = strawberry.UNSET
    expected_version: int | None = strawberry.UNSET


def create_command(entry: CreateContentEntryInput, **command: Any) -> CreateEntry:
    """Raises BadRequest and InvalidText."""
    if not entry.content_type_slug.strip() or not entry.title.strip():
        raise BadRequest(MISSING)
    return CreateEntry(
        content_type_slug=entry.content_type_slug,
        title=entry.title,
        slug=entry.slug or None,
        fields=_values(entry.fields),
        status=entry.status.value if entry.status else "draft",
        language=entry.language or BASE_LANGUAGE,
        stage_id=entry.stage_id or None,
        translations=_translations(entry.translations),
        **command,
    )


def update_command(changes: UpdateContentEntryInput, **command: Any) -> UpdateEntry:
    """Raises BadRequest and InvalidText."""
    for name in ("title", "slug", "status"):
        if getattr(changes, name) is None:
            raise BadRequest(f"{name} cannot be null: leave it out to keep it unchanged")
    return UpdateEntry(
        title=_or_unset(changes.title),
        slug=changes.slug or UNSET,
        status=changes.status.value if changes.status else UNSET,
        stage_id=_or_unset(changes.stage_id),
        fields=_values(changes.fields),
        translations=_translations(changes.translations),
        expected_version=None
        if changes.expected_version is strawberry.UNSET
        else changes.expected_version,
        **command,
    )


def _translations(inputs: Sequence[TranslationInput] | None) -> dict[str, Translation]:
    translations: dict[str, Translation] = {}
    for translation in inputs or ():
        if translation.locale in translations:
            raise BadRequest(
                f"translations has the locale '{translation.locale[:100]}' twice: give it once"
            )
        # In the domain, None leaves a title unchanged and "" removes its translation.
        title = None if translation.title is strawberry.UNSET else (translation.title or "")
        translations[translation.locale] = Translation(title, _values(translation.fields))
    return translations


def _values(fields: JSON | None) -> dict[str, Raw]:
    """Values by field slug, checked to the same depth as in a REST body."""
    if not fields:
        return {}
    body = json_object(minified(b'{"fields":' + bytes(fields) + b"}"), FIELDS)
    return json_object(body["fields"], FIELDS)


def _or_unset(value: Any) -> Any:
    """Converts Strawberry's UNSET to msgspec's."""
    return UNSET if value is strawberry.UNSET else value
