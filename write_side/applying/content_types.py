"""The content types of a manifest against those of each environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from write_side.applying.steps import Step
from write_side.applying.wanted import Wanted
from write_side.commands import CreateContentType, RemoveContentType, ReviseContentType
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field, Stage, check_lifelong
from write_side.domain.identity import Scope
from write_side.domain.refusals import ContentTypeInUse, PlanLimitReached, Refused
from write_side.manifest import ManifestError, WrittenType, applies, targets

_IN_USE = """
SELECT t.slug FROM write_side.content_type_claim t
WHERE (t.workspace, t.environment) = ($1, $2) AND t.slug = ANY ($3)
  AND EXISTS (
      SELECT FROM write_side.entry_claim e
      WHERE (e.workspace, e.environment, e.content_type_id) = ($1, $2, t.id))
ORDER BY t.slug"""


class Compared(Struct, frozen=True):
    removals: list[Step]
    changes: list[Step]


async def compared(wanted: Wanted) -> Compared:
    every = [await _of(wanted, environment) for environment in wanted.environments]
    return Compared(
        [step for one in every for step in one.removals],
        [step for one in every for step in one.changes],
    )


async def _of(wanted: Wanted, environment: str) -> Compared:
    scope = Scope(wanted.manifest.workspace, environment)
    there = {one.slug: one for one in await wanted.repository.content_types(scope)}
    written = [one for one in wanted.manifest.content_types if applies(one, environment)]
    mentioned = {one.slug for one in written}
    gone = [slug for slug in there if wanted.prune and slug not in mentioned]
    await _check_unused(wanted, scope, gone)
    after = (there.keys() - set(gone)) | mentioned
    _check_targets(written, after, environment)
    if len(after) > len(there):
        _check_limit(wanted, len(after))
    changes = [_change(wanted, scope, one, there.get(one.slug)) for one in written]
    return Compared(
        [_removal(wanted, scope, slug) for slug in gone], [step for step in changes if step]
    )


def _change(
    wanted: Wanted, scope: Scope, written: WrittenType, current: ContentType | None
) -> Step | None:
    what = f"content type {written.slug} in {scope.environment}"
    if current is None:
        create = CreateContentType(
            actor=wanted.actor,
            scope=scope,
            slug=written.slug,
            name=written.name,
            fields=written.fields,
            stages=written.stages,
        )
        return Step(f"{what} created", create)
    try:
        check_lifelong(current.known, written.fields)
    except Refused as refusal:
        raise ManifestError(f"contentTypes.{written.slug}: {refusal}") from None
    revisions = list(_revisions(current, written))
    if not revisions:
        return None
    revise = ReviseContentType(
        actor=wanted.actor,
        scope=scope,
        slug=written.slug,
        name=written.name,
        fields=written.fields,
        stages=written.stages,
    )
    return Step(f"{what} revised: {'; '.join(revisions)}", revise)


def _removal(wanted: Wanted, scope: Scope, slug: str) -> Step:
    return Step(
        f"content type {slug} in {scope.environment} removed: the manifest does not mention it",
        RemoveContentType(actor=wanted.actor, scope=scope, slug=slug),
    )


def _revisions(current: ContentType, written: WrittenType) -> Iterable[str]:
    if current.name != written.name:
        yield f"renamed to {written.name!r}"
    if current.fields != written.fields:
        yield from _differences("field", _fields(current.fields), _fields(written.fields))
    if current.stages != written.stages:
        yield from _differences("stage", _stages(current.stages), _stages(written.stages))


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


async def _check_unused(wanted: Wanted, scope: Scope, gone: Sequence[str]) -> None:
    rows = await wanted.repository.recorder.fetch(
        _IN_USE, scope.workspace, scope.environment, list(gone)
    )
    if rows:
        raise ContentTypeInUse(rows[0]["slug"])


def _check_targets(written: Iterable[WrittenType], after: Iterable[str], environment: str) -> None:
    known = set(after)
    for one in written:
        for path, target in targets(one.fields, f"contentTypes.{one.slug}"):
            if target not in known:
                raise ManifestError(f"{path}: {environment} has no content type {target!r}")


def _check_limit(wanted: Wanted, number: int) -> None:
    limit = wanted.plan.content_types
    if limit is not None and number > limit:
        raise PlanLimitReached("content types", limit)
