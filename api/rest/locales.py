"""The endpoint for the languages and locales of an environment's entries."""

from __future__ import annotations

from aiohttp import web

from api.context import Call
from api.rest import wire
from api.rest.kept_response import json_response
from api.rest.request_checks import check_read, with_checks
from read_side import lookups
from write_side.domain.locales import locale_name


def routes() -> list[web.RouteDef]:
    return [web.get("/v1/locales", with_checks(check_read, list_locales))]


async def list_locales(call: Call) -> web.Response:
    """Sorted by code, with the numbers of entries and translations that the key may read."""
    status = "published" if call.published_only else None
    of_entries = await lookups.languages(call.service.read_model, call.scope, status)
    of_translations = await lookups.locales(call.service.read_model, call.scope, status)
    found = wire.UsedLocales(
        [wire.LanguageCount(code, locale_name(code), n) for code, n in of_entries.items()],
        [wire.LocaleCount(code, locale_name(code), n) for code, n in of_translations.items()],
    )
    return json_response(call, wire.LocalesBody(True, found))
