"""Values that point at entries and media, in the names that people know these by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from api.dashboard.visit import Visit
from read_side.entry_details import titles
from read_side.lookups import media_files
from write_side.domain.definition import Field

_POINTED = msgspec.json.Decoder(str | list[str] | None)


async def names_of(
    visit: Visit, values: Iterable[tuple[Field, Raw]], locale: str = ""
) -> dict[str, str]:
    """Titles of entries and names of files by id, for values with their fields.

    What is gone has no name.
    """
    pool, scope = visit.service.read_model, visit.scope
    ids: dict[str, set[str]] = {"entry": set(), "media": set()}
    for field, value in values:
        if field.spec.refers_to:
            ids[field.spec.refers_to].update(_ids(value))
    entries = await titles(pool, scope.workspace, scope.environment, ids["entry"], locale)
    media = await media_files(pool, scope.workspace, ids["media"])
    return {
        **{one.id: one.name for one in media.values()},
        **{one.id: one.title for one in entries.values()},
    }


def in_names(value: Raw, names: Mapping[str, str]) -> str:
    """By its id what has no name; "" for what points at nothing."""
    return ", ".join(names.get(one, one) for one in _ids(value))


def _ids(value: Raw) -> list[str]:
    given = _POINTED.decode(value)
    return given if isinstance(given, list) else [given] if given else []
