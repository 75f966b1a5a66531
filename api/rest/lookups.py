"""The endpoints for what entries are made of: content types, locales, and the media library, which
all environments of a workspace share."""

from __future__ import annotations

from aiohttp import web

from api.context import Call
from api.rest import parameters, wire
from api.rest.cached_response import Reading, cached_response, json_response
from api.rest.request_checks import check_read, with_checks
from read_side import content_types, lookups, notices
from read_side.pool import Pool
from write_side.domain.locales import locale_name

PAGE = 50


def routes() -> list[web.RouteDef]:
    # aiohttp's default pattern excludes braces, which slugs may contain.
    return [
        web.get("/v1/content-types", with_checks(check_read, list_content_types)),
        web.get("/v1/content-types/{slug:[^/]+}", with_checks(check_read, one_content_type)),
        web.get("/v1/media", with_checks(check_read, list_media)),
        web.get("/v1/media/{id:[^/]+}", with_checks(check_read, one_media_file)),
        web.get("/v1/locales", with_checks(check_read, list_locales)),
    ]


async def list_content_types(call: Call) -> web.Response:
    """All content types of the environment, by slug."""
    scope = call.scope
    known = (notices.content_types(scope),)

    async def read(pool: Pool) -> Reading:
        rows = await content_types.content_types(pool, scope)
        body = wire.ContentTypesBody(True, [wire.content_type(row) for row in rows])
        stamp = rows[0].stamp if rows else None
        return Reading(wire.encode(body), stamp, known)

    return await cached_response(call, ("content types",), known, read)


async def one_content_type(call: Call) -> web.Response:
    scope = call.scope
    slug = parameters.searchable(call.request.match_info["slug"])

    known = (notices.singles_of_type(scope, slug),)

    async def read(pool: Pool) -> Reading:
        row = await content_types.content_type(pool, scope, slug)
        body = wire.ContentTypeBody(True, wire.content_type(row))
        return Reading(wire.encode(body), row.stamp, known)

    return await cached_response(call, ("content type", slug), known, read)


async def list_media(call: Call) -> web.Response:
    """Sorted by id, 50 per page."""
    limit, offset = parameters.paging(call.request.query, PAGE)
    page = await lookups.media_page(
        call.service.read_model, call.scope.workspace, limit=limit, offset=offset
    )
    files = [wire.media_file(file) for file in page.files]
    pagination = wire.Pagination(limit, offset, page.total)
    return json_response(call, wire.MediaListBody(True, files, pagination))


async def one_media_file(call: Call) -> web.Response:
    media_id = parameters.searchable(call.request.match_info["id"])
    file = await lookups.media_file(call.service.read_model, call.scope.workspace, media_id)
    return json_response(call, wire.MediaBody(True, wire.media_file(file)))


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
