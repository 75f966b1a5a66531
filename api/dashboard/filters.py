"""The filters of the entries' table, as the address has them. What makes no sense there is no
error: it is as if nothing had been chosen, and the page shows that."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from api.dashboard.names import named
from api.dashboard.visit import Visit
from api.rest import parameters
from read_side.content_types import ContentTypeRow, content_types
from read_side.lookups import languages, locales
from read_side.paging import Filters
from write_side.domain.events import STATUSES
from write_side.domain.identity import BASE_LANGUAGE

LONGEST_SEARCH = 200


class Chosen(Struct, frozen=True):
    """What is chosen, of what there is. ``type``: the content type, where one is."""

    types: list[ContentTypeRow]
    languages: list[str]
    locales: list[str]
    type: ContentTypeRow | None
    filters: Filters

    @property
    def query(self) -> dict[str, str]:
        """For links that keep the filters."""
        return {
            "type": self.type.slug if self.type else "",
            "status": self.filters.status,
            "language": self.filters.language,
            "locale": self.filters.locale,
            "search": self.filters.search,
        }

    @property
    def is_open(self) -> bool:
        """Nothing is left out."""
        f = self.filters
        return not (self.type or f.status or f.language or f.search)

    @property
    def type_options(self) -> list[tuple[str, str]]:
        return [(one.slug, one.name) for one in self.types]

    @property
    def language_options(self) -> list[tuple[str, str]]:
        return [(code, named(code)) for code in self.languages]

    @property
    def locale_options(self) -> list[tuple[str, str]]:
        return [(code, named(code)) for code in self.locales]

    @property
    def exported_language(self) -> str:
        """A file holds one language."""
        return self.filters.language or BASE_LANGUAGE


async def chosen(visit: Visit) -> Chosen:
    pool, scope = visit.service.read_model, visit.scope
    query = visit.request.query
    types = await content_types(pool, scope.workspace, scope.environment)
    spoken = await languages(pool, scope.workspace, scope.environment)
    translated = await locales(pool, scope.workspace, scope.environment)
    wanted = query.get("type", "")
    of_type = next((one for one in types if one.slug == wanted), None)
    filters = Filters(
        type_slug=of_type.slug if of_type else "",
        status=_one_of(STATUSES, query.get("status", "")),
        language=_one_of(spoken, query.get("language", "")),
        locale=_one_of(translated, query.get("locale", "")),
        search=parameters.searchable(query.get("search", "").strip())[:LONGEST_SEARCH],
    )
    return Chosen(types, spoken, translated, of_type, filters)


def _one_of(known: Sequence[str], given: str) -> str:
    return given if given in known else ""
