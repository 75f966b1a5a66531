"""The steps for content types, in each environment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from write_side.commands import (
    CreateContentType,
    DefineContentType,
    RemoveContentType,
    ReviseContentType,
)
from write_side.domain.content_type import ContentType
from write_side.domain.definition import check_unchanged_kinds
from write_side.domain.identity import Scope
from write_side.domain.refusals import ContentTypeInUse, PlanLimitReached
from write_side.manifest.consistency import targets
from write_side.manifest.document import ManifestContentType
from write_side.manifest.steps import REMOVED, DesiredState, Step
from write_side.postgres.statements import statement

_TYPES_IN_USE = statement("write_side", "content_types_in_use")


class ContentTypeDiff(Struct, frozen=True):
    """``after``: the slugs of all content types by environment, once the steps are applied."""

    removals: list[Step]
    changes: list[Step]
    after: dict[str, Collection[str]]


async def diff_content_types(desired: DesiredState) -> ContentTypeDiff:
    diff = ContentTypeDiff([], [], {})
    for environment in desired.environments:
        await _diff_environment(desired, environment, diff)
    return diff


async def _diff_environment(desired: DesiredState, environment: str, diff: ContentTypeDiff) -> None:
    scope = Scope(desired.manifest.workspace, environment)
    there = {one.slug: one for one in await desired.repository.content_types(scope)}
    types = enumerate(desired.manifest.content_types)
    declared = {
        index: _definition(desired, scope, one, there.get(one.slug))
        for index, one in types
        if one.applies(environment)
    }
    mentioned = {one.slug for one in declared.values()}
    gone = desired.removed(there, mentioned)
    await _check_unused(desired, scope, gone)
    after = dict.fromkeys(sorted((there.keys() - set(gone)) | mentioned))
    _check_targets(desired, declared, after, environment)
    limit = desired.plan.content_types
    with desired.source.at("contentTypes"):
        if limit is not None and len(after) > max(limit, len(there)):
            raise PlanLimitReached(limit, "content type")
    for index, one in declared.items():
        if current := there.get(one.slug):
            at = partial(desired.source.at, "contentTypes", index, "fields")
            check_unchanged_kinds(current.known, one.fields, at=at)
    changes = [_change(one, there.get(one.slug)) for one in declared.values()]
    diff.removals.extend(_removal(desired, scope, slug) for slug in gone)
    diff.changes.extend(step for step in changes if step)
    diff.after[environment] = after


def _definition(
    desired: DesiredState, scope: Scope, declared: ManifestContentType, current: ContentType | None
) -> CreateContentType | ReviseContentType:
    """Complete: an existing type keeps the fields and stages that the manifest does not mention."""
    command = ReviseContentType if current else CreateContentType
    return command(
        actor=desired.actor,
        scope=scope,
        slug=declared.slug,
        name=declared.name,
        fields=declared.desired_fields(current.fields if current else ()),
        stages=declared.desired_stages(current.stages if current else ()),
    )


def _change(
    command: CreateContentType | ReviseContentType, current: ContentType | None
) -> Step | None:
    what = f"content type {command.slug} in {command.scope.environment}"
    if current is None:
        return Step(what, "created", command)
    revisions = "; ".join(_revisions(current, command))
    return Step(what, f"revised: {revisions}", command) if revisions else None


def _removal(desired: DesiredState, scope: Scope, slug: str) -> Step:
    removal = RemoveContentType(actor=desired.actor, scope=scope, slug=slug)
    return Step(f"content type {slug} in {scope.environment}", REMOVED, removal)


def _revisions(current: ContentType, definition: DefineContentType) -> Iterable[str]:
    if current.name != definition.name:
        yield f"renamed to {definition.name!r}"
    fields = {field.slug: field for field in current.fields}
    yield from _differences("field", fields, {field.slug: field for field in definition.fields})
    stages = {stage.id: stage for stage in current.stages}
    yield from _differences("stage", stages, {stage.id: stage for stage in definition.stages})


def _differences(
    what: str, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterable[str]:
    both = [name for name in before if name in after]
    named = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in both if before[name] != after[name]],
    }
    for verb, names in named.items():
        if names:
            yield f"{what}{'s' if len(names) > 1 else ''} {verb}: {', '.join(names)}"
    if both != [name for name in after if name in before]:
        yield f"{what}s reordered"


async def _check_unused(desired: DesiredState, scope: Scope, gone: Sequence[str]) -> None:
    place = (scope.workspace, scope.environment)
    rows = await desired.repository.recorder.fetch(_TYPES_IN_USE, *place, list(gone))
    if rows:
        raise ContentTypeInUse(rows[0]["slug"])


def _check_targets(
    desired: DesiredState,
    declared: Mapping[int, DefineContentType],
    known: Collection[str],
    environment: str,
) -> None:
    for index, one in declared.items():
        for path, target in targets(one.fields):
            if target not in known:
                message = f"{environment} has no content type {target!r}"
                suggestion = desired.source.suggestion(target, known)
                desired.source.add(("contentTypes", index, *path), message, suggestion=suggestion)
