"""A table to the one command that imports it, or to all that is in the way."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from write_side.commands import CreateEntry, ImportEntries
from write_side.domain.content_type import ContentType
from write_side.domain.identity import BASE_LANGUAGE, Actor, Scope, derived_id
from write_side.imports.columns import columns_of
from write_side.imports.files import Table
from write_side.imports.rows import Draft, Problem, Valued, drafts_of, valued
from write_side.imports.targets import look_up
from write_side.repository import Repository


class Wish(Struct, frozen=True):
    """Where the rows of a table shall go, and on whose behalf. The id makes it happen once."""

    scope: Scope
    content_type_slug: str
    import_id: str
    name: str = ""

    @property
    def actor(self) -> Actor:
        return Actor("import", self.import_id, self.name)

    def entry_id(self, slug: str) -> str:
        """The same for the same row of the same import."""
        return derived_id(self.import_id, slug)


class Prepared(Struct, frozen=True):
    """``command`` is None where there are problems, and where nothing is left to import.

    Where the import id has been used the command has no entries: carrying it out answers what was
    recorded then, or refuses the id of another import.
    """

    command: ImportEntries | None
    problems: tuple[Problem, ...]
    skipped: int


async def prepare(table: Table, wish: Wish, repository: Repository) -> Prepared:
    """The command that makes an entry of each row, unless its slug exists already.

    Raises FileRefused where the headings do not fit, UnknownContentType.
    """
    if await repository.find_import(wish.import_id) is not None:
        return Prepared(_command(table, wish, (), 0), (), 0)
    repository.forget(wish.scope, wish.content_type_slug)
    content_type = await repository.content_type(wish.scope, wish.content_type_slug)
    every = list(drafts_of(table, columns_of(table.headings, content_type.value_fields)))
    new = await _new(every, wish, repository)
    rows, problems = await _valued(new, content_type, wish, repository)
    skipped = len(every) - len(new)
    if problems or not rows:
        return Prepared(None, tuple(problems), skipped)
    return Prepared(_command(table, wish, rows, skipped), (), skipped)


async def _new(drafts: Sequence[Draft], wish: Wish, repository: Repository) -> list[Draft]:
    """Those whose slug is taken neither in the log nor by an earlier row (specification §4.6)."""
    taken = set(
        await repository.entries_by_slug(
            wish.scope, [wish.content_type_slug], BASE_LANGUAGE, {draft.slug for draft in drafts}
        )
    )
    new = []
    for draft in drafts:
        if draft.slug not in taken:
            new.append(draft)
            # A row without a title is a problem of its own, not the model of the next one.
            taken.update({draft.slug} if draft.slug else ())
    return new


async def _valued(
    drafts: Sequence[Draft], content_type: ContentType, wish: Wish, repository: Repository
) -> tuple[list[Valued], list[Problem]]:
    own = {draft.slug: wish.entry_id(draft.slug) for draft in drafts}
    targets = await look_up(drafts, own, content_type.slug, wish.scope, repository)
    rows, problems = [], []
    for draft in drafts:
        row, found = valued(draft, content_type.value_fields, targets.value_of)
        rows.append(row)
        problems.extend(found)
    return rows, problems


def _command(table: Table, wish: Wish, rows: Sequence[Valued], skipped: int) -> ImportEntries:
    return ImportEntries(
        actor=wish.actor,
        scope=wish.scope,
        content_type_slug=wish.content_type_slug,
        import_id=wish.import_id,
        file_name=table.name,
        entries=[
            CreateEntry(
                actor=wish.actor,
                scope=wish.scope,
                content_type_slug=wish.content_type_slug,
                title=row.draft.title,
                slug=row.draft.slug,
                status=row.draft.status,
                fields=row.values,
                entry_id=wish.entry_id(row.draft.slug),
            )
            for row in rows
        ],
        skipped=skipped,
    )
