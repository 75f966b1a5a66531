"""The checks of every way of writing an entry: texts, targets, stages, translations."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from functools import partial

from msgspec import UnsetType

from write_side.domain.content_type import ContentType
from write_side.domain.definition import translatable
from write_side.domain.entry import Entry, check_size, check_translated_values
from write_side.domain.events import Translation
from write_side.domain.identity import Scope, check_entry_slug
from write_side.domain.locales import check_locale
from write_side.domain.refusals import (
    InvalidEntry,
    InvalidText,
    MissingFields,
    UnknownReference,
    VersionConflict,
    shortened,
)
from write_side.domain.text import check_text
from write_side.domain.values import Target, checked, missing
from write_side.domain.workspace import check_environment
from write_side.repository import Repository
from write_side.waiting import in_slices


async def check_scope(scope: Scope, repository: Repository) -> None:
    """Raises UnknownWorkspace, and the refusals of an environment that the workspace lacks."""
    workspace = await repository.workspace(scope.workspace)
    check_environment(workspace.plan, workspace.environments, scope)


async def check_targets(
    scope: Scope,
    targets: Collection[Target],
    repository: Repository,
    new_entries: Mapping[str, str] | None = None,
) -> None:
    """Checks that every reference is to an existing entry of an allowed type, and every media id to
    a known file.

    Uses one query for all references and one for all files. ``new_entries``: entry id → type slug
    of the entries that the same append creates.
    """
    references: list[Target] = []
    files: list[Target] = []
    async for target in in_slices(targets):
        (references if target.is_entry else files).append(target)
    if references:
        known = await repository.types_of_entries(scope, {target.id for target in references})
        known |= new_entries or {}
        async for target in in_slices(references):
            check_reference(target, known)
    if files:
        library = await repository.known_media(scope.workspace, {target.id for target in files})
        async for target in in_slices(files):
            check_file(target, library)


def check_file(target: Target, library: Container[str]) -> None:
    """``library``: the ids of known media files."""
    if target.id not in library:
        raise UnknownReference(target.path, target.id, "which is not in the media library")


def check_reference(target: Target, known: Mapping[str, str]) -> None:
    """``known``: entry id → slug of its content type."""
    if target.id not in known:
        raise UnknownReference(target.path, target.id, "which is not in this environment")
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
    """The translations with the translatable parts of their fields; the rest is ignored."""
    if not translations:
        return {}
    check_translated_values(translations)
    fields = translatable(content_type.value_fields)
    for locale, translation in translations.items():
        check_locale(locale)
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


def check_stage(content_type: ContentType, stage_id: str | UnsetType | None) -> None:
    known = [stage.id for stage in content_type.stages]
    if isinstance(stage_id, str) and stage_id not in known:
        stages = f"use {', '.join(known)}" if known else "it has no workflow"
        raise InvalidEntry(f"The content type has no stage {shortened(stage_id)!r}: {stages}")


def check_version(expected: int | None, entry: Entry) -> None:
    if expected is not None and expected != entry.version:
        raise VersionConflict(expected, entry.version)


def refusals(
    content_type: ContentType, after: Entry, before: Entry | None = None
) -> Iterator[InvalidEntry]:
    """The reasons why an entry may not become ``after``, apart from single values and their
    references.

    Handlers raise the first refusal; the preview of an import shows all of them.
    """
    for check in (partial(_check_texts, before), check_size):
        try:
            check(after)
        except InvalidEntry as refused:
            yield refused
    if after.status == "published" and (absent := missing_required(content_type, after, before)):
        yield MissingFields(absent)


def check_entry(content_type: ContentType, after: Entry, before: Entry | None = None) -> None:
    for refused in refusals(content_type, after, before):
        raise refused


def missing_required(content_type: ContentType, after: Entry, before: Entry | None) -> list[str]:
    """The required fields without a value, except those that a published entry already lacks: a
    field that became required later must not block other changes of the entry."""
    fields = content_type.value_fields
    was_published = before is not None and before.status == "published"
    lacking = missing(fields, before.fields) if before and was_published else []
    return [path for path in missing(fields, after.fields) if path not in lacking]


def _check_texts(before: Entry | None, after: Entry) -> None:
    """Checks the title and slug if they are new; stored ones remain valid."""
    if before is None or after.title != before.title:
        check_text(after.title, "The title")
        if not after.title.strip():
            raise InvalidText("The title is blank; enter one")
    if before is None or after.slug != before.slug:
        check_text(after.slug, "The slug")
        check_entry_slug(after.slug)
