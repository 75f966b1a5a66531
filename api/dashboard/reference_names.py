"""Names of the entries and media files that field values refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from api.dashboard.dashboard_request import DashboardRequest
from read_side.entry_details import titles
from read_side.lookups import media_files
from write_side.domain.definition import Field

_IDS = msgspec.json.Decoder(str | list[str] | None)


async def reference_names(
    request: DashboardRequest, values: Iterable[tuple[Field, Raw]], locale: str = ""
) -> dict[str, str]:
    """Titles of entries and names of files by id; ``values`` come with their fields. Deleted
    entries and files are missing."""
    ids: dict[str, set[str]] = {"entry": set(), "media": set()}
    for field, value in values:
        if field.spec.refers_to:
            ids[field.spec.refers_to].update(_ids(value))
    entries = await titles(*request.read_model, ids["entry"], locale)
    media = await media_files(request.service.read_model, request.scope.workspace, ids["media"])
    return {
        **{one.id: one.name for one in media.values()},
        **{one.id: one.title for one in entries.values()},
    }


def with_names(value: Raw, names: Mapping[str, str]) -> str:
    """The names of all references in a value, ids for unknown ones; "" for none."""
    return ", ".join(names.get(one, one) for one in _ids(value))


def _ids(value: Raw) -> list[str]:
    given = _IDS.decode(value)
    return given if isinstance(given, list) else [given] if given else []
