"""What every way of writing an entry checks: texts, targets, stages, translations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Raw

from write_side.domain.content_type import ContentType
from write_side.domain.definition import translatable
from write_side.domain.entry import Entry
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import (
    InvalidEntry,
    MissingFields,
    UnknownReference,
    VersionConflict,
)
from write_side.domain.text import check_text
from write_side.domain.values import Target, checked, missing
from write_side.repository import Repository


async def check_targets(
    scope: Scope,
    found: Collection[Target],
    repository: Repository,
    coming: Mapping[str, str] | None = None,
) -> None:
    """Every reference is to a living entry of an allowed type, every media id to a known file.

    One query for all references and one for all files, however many. ``coming``: entry id → type
    slug of the entries that the same append makes.
    """
    references = [target for target in found if target.is_entry]
    if references:
        known = await repository.types_of_entries(scope, {target.id for target in references})
        known |= coming or {}
        for target in references:
            _check_reference(target, known)
    files = [target for target in found if not target.is_entry]
    if files:
        library = await repository.known_media(scope.workspace, {target.id for target in files})
        for target in files:
            if target.id not in library:
                raise UnknownReference(
                    target.path, target.id, "which is no file of the media library"
                )


def _check_reference(target: Target, known: Mapping[str, str]) -> None:
    if target.id not in known:
        raise UnknownReference(target.path, target.id, "which is no entry of this environment")
    allowed = target.field.to
    if allowed and known[target.id] not in allowed:
        raise UnknownReference(
            target.path,
            target.id,
            f"an entry of type {known[target.id]}, but takes {', '.join(allowed)}",
        )


def checked_translations(
    content_type: ContentType, language: str, translations: Mapping[str, Translation]
) -> dict[str, Translation]:
    """The translations with what can be translated of their fields; the rest is ignored."""
    if not translations:
        return {}
    fields = translatable(content_type.value_fields)
    for locale, translation in translations.items():
        check_locale(locale, "locale")
        check_text(translation.title or "", "The translated title")
        if locale == language:
            raise InvalidEntry(
                f"The entry is written in {language}: change its own texts, "
                "a translation would hide them"
            )
    return {
        locale: Translation(translation.title, checked(fields, translation.fields))
        for locale, translation in translations.items()
    }


def checked_stage(content_type: ContentType, stage_id: str | None) -> str | None:
    if stage_id is not None and stage_id not in {stage.id for stage in content_type.stages}:
        known = ", ".join(stage.id for stage in content_type.stages) or "it has no workflow"
        raise InvalidEntry(f"The content type has no stage {stage_id!r}: {known}")
    return stage_id


def check_version(expected: int | None, entry: Entry) -> None:
    if expected is not None and expected != entry.version:
        raise VersionConflict(expected, entry.version)


def check_required(
    content_type: ContentType, fields: Mapping[str, Raw], lacking: Collection[str] = ()
) -> None:
    """Every required field has a value, but for those that were ``lacking`` one before."""
    absent = [path for path in missing(content_type.value_fields, fields) if path not in lacking]
    if absent:
        raise MissingFields(absent)


def check_texts(title: str, slug: str) -> None:
    check_text(title, "The title")
    check_text(slug, "The slug")
    if not title:
        raise InvalidEntry("The title is empty")
    if not slug:
        raise InvalidEntry("The slug is empty")


def check_locale(code: str, what: str) -> None:
    """``what``: "locale" or "language"."""
    if code not in supported_locales():
        raise InvalidEntry(f"Unsupported {what} '{code}': use a code like en-US or fr-FR")
