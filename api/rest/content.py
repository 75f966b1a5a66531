"""The endpoints for entries (behaviour.md §4.1 to §4.4) and content types."""

from __future__ import annotations

import msgspec
from aiohttp import web
from msgspec import Raw
from msgspec.structs import replace

from api.context import Call
from api.errors import BadRequest
from api.http.loop_turns import JSON
from api.rest import parameters, point_in_time, wire
from api.rest.idempotency import HEADER, command_key, digest
from api.rest.ignored_members import ignored_header, ignored_names
from api.rest.json_budget import check_values
from api.rest.kept_response import Reading, json_response, kept
from api.rest.list_response import list_response
from api.rest.positions import HEADER as POSITION
from api.rest.request_body import receive_body
from api.rest.request_checks import check_edit, check_read, check_read_of_status, with_checks
from read_side import content_types, entries, notices, paging
from read_side.entries import EntryRow
from read_side.refusals import EntryNotFound
from write_side.commands import CreateEntry
from write_side.dispatch import execute
from write_side.domain.text import minified

FIELDS = "fields must be an object; leave it out for an entry without values"
MISSING = "Missing required fields: contentTypeSlug and title"
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_STRING = msgspec.json.Decoder(str)
# aiohttp's default pattern excludes braces, which slugs may contain.
_TYPE = "{type:[^/]+}"
_SLUG = "{slug:[^/]+}"


def routes() -> list[web.RouteDef]:
    return [
        web.get(f"/v1/content/{_TYPE}", with_checks(check_read_of_status, list_of_type)),
        web.get(f"/v1/content/{_TYPE}/{_SLUG}", with_checks(check_read, one)),
        web.get("/v1/content", with_checks(check_read, list_across_types)),
        web.post("/v1/content", with_checks(check_edit, create)),
        web.get("/v1/content-types", with_checks(check_read, list_content_types)),
        web.get(f"/v1/content-types/{_SLUG}", with_checks(check_read, one_content_type)),
    ]


async def list_of_type(call: Call) -> web.Response:
    """§4.1: by default the published entries, 10 per page."""
    query, scope = call.request.query, call.scope
    limit, offset = parameters.paging(query, 10)
    named = {
        "type_slug": parameters.searchable(call.request.match_info["type"]),
        "status": parameters.status(query),
        "language": parameters.language(query),
    }
    return await list_response(
        call,
        ("list of type", *named.values(), limit, offset),
        notices.lists(scope, named["type_slug"], [named["status"]]),
        lambda: paging.list_of_type(
            call.service.read_model, scope, **named, locale=call.locale, limit=limit, offset=offset
        ),
        lambda row: wire.listed_entry(row, call.locale),
        lambda rows, total: wire.TypeListBody(True, rows, wire.Pagination(limit, offset, total)),
    )


async def one(call: Call) -> web.Response:
    """§4.2: in any status that the key may read; with ``asOf``, as it was at that time."""
    query, service, scope = call.request.query, call.service, call.scope
    at = parameters.as_of(query)
    named = {
        "type_slug": parameters.searchable(call.request.match_info["type"]),
        "slug": parameters.searchable(call.request.match_info["slug"]),
        "language": parameters.language(query),
        "locale": call.locale,
    }
    if at is not None:
        row = (await point_in_time.entry_of_slug(service, scope, at=at, **named)).row
        return json_response(call, _single_body(call, row))

    async def read() -> Reading:
        row = await entries.entry_of_slug(service.read_model, scope, **named)
        type_ = notices.singles_of_type(scope, named["type_slug"])
        return Reading(_single_body(call, row), row.stamp, (type_, row.id))

    return await kept(call, ("one", *named.values()), read)


def _single_body(call: Call, row: EntryRow) -> wire.SingleBody:
    """Raises EntryNotFound for one that the key may not read."""
    if call.published_only and row.status != "published":
        raise EntryNotFound
    return wire.SingleBody(True, wire.single_entry(row, call.locale))


async def list_across_types(call: Call) -> web.Response:
    """§4.3: in every status that the key may read, 50 per page."""
    query, scope = call.request.query, call.scope
    limit, offset = parameters.paging(query, 50)
    named = {
        "type_slug": parameters.type_slug(query),
        "status": "published" if call.published_only else None,
    }
    return await list_response(
        call,
        ("list across types", *named.values(), limit, offset),
        notices.lists(scope, named["type_slug"], notices.statuses_of(named["status"])),
        lambda: paging.list_across_types(
            call.service.read_model,
            scope,
            **named,
            locale=call.locale,
            limit=limit,
            offset=offset,
        ),
        lambda row: wire.entry_of_any_type(row, call.locale),
        lambda rows, total: wire.ListBody(rows, wire.Pagination(limit, offset, total)),
    )


async def create(call: Call) -> web.Response:
    """§4.4: always a draft. With an Idempotency-Key, repeated requests create nothing."""
    given = call.request.headers.get(HEADER)
    key = None if given is None else command_key(given, call.known_caller.key_id, call.scope)
    body = await receive_body(call)
    turns, client = call.service.loop_turns, call.client
    async with turns.turn(client, JSON, len(body)):
        check_values(body)
    async with turns.turn(client, JSON, len(body)):
        stored = minified(body)
    async with turns.turn(client, JSON, len(body)):
        command = create_command(call, stored)
    if key is None:
        return await _created(call, command)
    with call.service.in_flight.reserve(key):
        return await _created(call, replace(command, command_key=key, digest=digest(body)))


async def _created(call: Call, command: CreateEntry) -> web.Response:
    """Responds once the entry can be read, or after ``read_your_writes`` seconds."""
    reserve = call.service.limits.projection(call.known_caller)
    executed = await execute(command, call.service.repository, reserve)
    visible = await call.service.checkpoint.wait(
        executed.position, call.service.settings.read_your_writes
    )
    entry = wire.created_entry(executed)
    response = json_response(
        call, wire.CreatedBody(entry, f"Content entry '{entry.slug}' was created")
    )
    response.headers[POSITION] = call.service.positions.token(
        call.scope.workspace, executed.position
    )
    response.headers["X-Content-Visible"] = "true" if visible else "false"
    response.headers.update(ignored_header(ignored_names(command, executed)))
    return response


async def list_content_types(call: Call) -> web.Response:
    """All content types of the environment, by slug."""
    scope = call.scope

    async def read() -> Reading:
        rows = await content_types.content_types(call.service.read_model, scope)
        body = wire.ContentTypesBody(True, [wire.content_type(row) for row in rows])
        return Reading(body, rows[0].stamp if rows else None, (notices.content_types(scope),))

    return await kept(call, ("content types",), read)


async def one_content_type(call: Call) -> web.Response:
    scope = call.scope
    slug = parameters.searchable(call.request.match_info["slug"])

    async def read() -> Reading:
        row = await content_types.content_type(call.service.read_model, scope, slug)
        body = wire.ContentTypeBody(True, wire.content_type(row))
        return Reading(body, row.stamp, (notices.singles_of_type(scope, slug),))

    return await kept(call, ("content type", slug), read)


def create_command(call: Call, body: bytes) -> CreateEntry:
    """``body`` is minified JSON. Raises BadRequest."""
    entry = _object(body, MISSING)
    type_slug, title = (_string(entry.get(name)) for name in ("contentTypeSlug", "title"))
    if not (type_slug and type_slug.strip() and title and title.strip()):
        raise BadRequest(MISSING)
    return CreateEntry(
        actor=call.actor,
        request_id=call.request_id,
        scope=call.scope,
        content_type_slug=type_slug,
        title=title,
        slug=_slug(entry),
        fields=_object(
            entry.get("fields", Raw(b"{}")),
            FIELDS,
        ),
    )


def _slug(entry: dict[str, Raw]) -> str | None:
    """An empty slug counts as absent; null is not a string."""
    if "slug" not in entry:
        return None
    slug = _string(entry["slug"])
    if slug is None:
        raise BadRequest("slug must be a string; leave it out to take it from the title")
    return slug or None


def _string(value: Raw | None) -> str | None:
    """None if the value is absent or not a string."""
    try:
        return None if value is None else _STRING.decode(value)
    except msgspec.ValidationError:
        return None


def _object(value: bytes | Raw, refusal: str) -> dict[str, Raw]:
    try:
        return _OBJECT.decode(value)
    except msgspec.ValidationError:
        raise BadRequest(refusal) from None
