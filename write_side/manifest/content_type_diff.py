"""The steps for content types, in each environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from write_side.commands import CreateContentType, RemoveContentType, ReviseContentType
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field, Stage, check_lifelong
from write_side.domain.identity import Scope
from write_side.domain.refusals import ContentTypeInUse, PlanLimitReached, Refused
from write_side.manifest.apply import Step
from write_side.manifest.desired_state import DesiredState
from write_side.manifest.document import (
    ManifestContentType,
    ManifestError,
    applies,
    targets,
)
from write_side.postgres.statements import statement

_TYPES_IN_USE = statement("write_side", "content_types_in_use")


class ContentTypeDiff(Struct, frozen=True):
    removals: list[Step]
    changes: list[Step]


async def diff_content_types(desired: DesiredState) -> ContentTypeDiff:
    every = [await _diff_environment(desired, environment) for environment in desired.environments]
    return ContentTypeDiff(
        [step for one in every for step in one.removals],
        [step for one in every for step in one.changes],
    )


async def _diff_environment(desired: DesiredState, environment: str) -> ContentTypeDiff:
    scope = Scope(desired.manifest.workspace, environment)
    there = {one.slug: one for one in await desired.repository.content_types(scope)}
    declared = [one for one in desired.manifest.content_types if applies(one, environment)]
    mentioned = {one.slug for one in declared}
    gone = [slug for slug in there if desired.prune and slug not in mentioned]
    await _check_unused(desired, scope, gone)
    after = (there.keys() - set(gone)) | mentioned
    _check_targets(declared, after, environment)
    if len(after) > len(there):
        _check_limit(desired, len(after))
    changes = [_change(desired, scope, one, there.get(one.slug)) for one in declared]
    return ContentTypeDiff(
        [_removal(desired, scope, slug) for slug in gone], [step for step in changes if step]
    )


def _change(
    desired: DesiredState, scope: Scope, declared: ManifestContentType, current: ContentType | None
) -> Step | None:
    what = f"content type {declared.slug} in {scope.environment}"
    if current is None:
        create = CreateContentType(
            actor=desired.actor,
            scope=scope,
            slug=declared.slug,
            name=declared.name,
            fields=declared.fields,
            stages=declared.stages,
        )
        return Step(f"{what} created", create)
    try:
        check_lifelong(current.known, declared.fields)
    except Refused as refusal:
        raise ManifestError(f"contentTypes.{declared.slug}: {refusal}") from None
    revisions = list(_revisions(current, declared))
    if not revisions:
        return None
    revise = ReviseContentType(
        actor=desired.actor,
        scope=scope,
        slug=declared.slug,
        name=declared.name,
        fields=declared.fields,
        stages=declared.stages,
    )
    return Step(f"{what} revised: {'; '.join(revisions)}", revise)


def _removal(desired: DesiredState, scope: Scope, slug: str) -> Step:
    return Step(
        f"content type {slug} in {scope.environment} removed: the manifest does not mention it",
        RemoveContentType(actor=desired.actor, scope=scope, slug=slug),
    )


def _revisions(current: ContentType, declared: ManifestContentType) -> Iterable[str]:
    if current.name != declared.name:
        yield f"renamed to {declared.name!r}"
    if current.fields != declared.fields:
        yield from _differences("field", _fields(current.fields), _fields(declared.fields))
    if current.stages != declared.stages:
        yield from _differences("stage", _stages(current.stages), _stages(declared.stages))


def _fields(fields: Sequence[Field]) -> dict[str, object]:
    return {field.slug: field for field in fields}


def _stages(stages: Sequence[Stage]) -> dict[str, object]:
    return {stage.id: stage for stage in stages}


def _differences(what: str, before: dict[str, object], after: dict[str, object]) -> Iterable[str]:
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
    rows = await desired.repository.recorder.fetch(
        statement("write_side", "content_types_in_use"),
        scope.workspace,
        scope.environment,
        list(gone),
    )
    if rows:
        raise ContentTypeInUse(rows[0]["slug"])


def _check_targets(
    declared: Iterable[ManifestContentType], after: Iterable[str], environment: str
) -> None:
    known = set(after)
    for one in declared:
        for path, target in targets(one.fields, f"contentTypes.{one.slug}"):
            if target not in known:
                raise ManifestError(f"{path}: {environment} has no content type {target!r}")


def _check_limit(desired: DesiredState, number: int) -> None:
    limit = desired.plan.content_types
    if limit is not None and number > limit:
        raise PlanLimitReached("content types", limit)
