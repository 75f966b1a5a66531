"""One entry with everything that the dashboard shows, and the titles of entries it refers to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from msgspec import Raw, Struct

from read_side.paging import EntrySummary, entry_summary
from read_side.pool import Pool, fetch
from read_side.refusals import EntryNotFound
from write_side.domain.definition import Field, decode_fields
from write_side.domain.identity import Scope
from write_side.domain.rendering import Renderer, stored_translations, stored_values
from write_side.domain.values import EMPTY


class EntryDetails(Struct, frozen=True):
    """``fields`` are all fields of its type, in its order, with the texts of the requested locale;
    ``locales`` are those into which it is translated; ``translated``: the fields with texts in the
    requested one."""

    entry: EntrySummary
    type_slug: str
    type_name: str
    version: int
    definition: tuple[Field, ...]
    fields: dict[str, Raw]
    locales: list[str]
    translated: frozenset[str] = frozenset()

    def field_language(self, slug: str, locale: str) -> str:
        """The language of a field's texts, which are shown in the locale."""
        return locale if slug in self.translated else self.entry.language


class EntryTitle(Struct, frozen=True):
    """``language``: of the title."""

    id: str
    title: str
    status: str
    language: str


async def entry_details(pool: Pool, scope: Scope, *, entry_id: str, locale: str) -> EntryDetails:
    """An entry of any status and language. Raises EntryNotFound, also for a malformed id."""
    try:
        wanted = UUID(entry_id)
    except ValueError:
        raise EntryNotFound from None
    records = await fetch(pool, "entry_by_id", scope.workspace, scope.environment, wanted, locale)
    if not records:
        raise EntryNotFound
    record = records[0]
    translations = stored_translations(record["translations"] or b"{}")
    definition = decode_fields(record["type_fields"])
    renderer = Renderer(definition)
    stored = stored_values(record["stored"])
    texts = translations[locale].fields if locale in translations else {}
    stored = renderer.translated(stored, texts)
    return EntryDetails(
        entry=entry_summary(record),
        type_slug=record["type_slug"],
        type_name=record["type_name"],
        version=record["version"],
        definition=definition,
        fields=stored_values(renderer.render(stored)),
        locales=sorted(translations),
        translated=translated_fields(texts),
    )


def translated_fields(texts: Mapping[str, Raw]) -> frozenset[str]:
    """The fields of which a translation has a text."""
    return frozenset(slug for slug, text in texts.items() if text not in EMPTY)


async def titles(
    pool: Pool, scope: Scope, ids: Collection[str], locale: str
) -> dict[str, EntryTitle]:
    """The titles by entry id; deleted entries are absent."""
    if not ids:
        return {}
    wanted = [UUID(entry_id) for entry_id in ids]
    records = await fetch(pool, "titles", scope.workspace, scope.environment, wanted, locale)
    return {record["id"]: EntryTitle(**record) for record in records}
