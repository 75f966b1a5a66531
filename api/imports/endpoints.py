"""Imports over HTTP: a file is accepted at once and imported by ``api.imports.worker``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from aiohttp import web
from msgspec import Struct
from msgspec.structs import FieldInfo, fields, replace

from api.context import Call
from api.errors import BadRequest, Busy, NothingToRevert, TooManyImports, UnsupportedMedia
from api.imports.multipart_form import FileForm, FormReader, is_form
from api.imports.result import ImportResult, StoredResult, result_of_report, without_positions
from api.rest.cached_response import json_response
from api.rest.content import wait_until_readable
from api.rest.idempotency import HEADER, command_key, digest
from api.rest.request_body import content_encoding, defer_continue
from api.rest.request_checks import check_edit, with_checks
from write_side.domain.events import STATUSES
from write_side.domain.identity import PRODUCTION, new_id
from write_side.domain.locales import check_locale
from write_side.domain.refusals import UnknownImport, in_words, shortened
from write_side.domain.text import check_text
from write_side.domain.workspace import OPERATE
from write_side.imports import jobs
from write_side.imports.encodings import ENCODINGS, encoding_named
from write_side.imports.jobs import JobOptions, JobStatus
from write_side.imports.report import Report, import_report, revert_import
from write_side.imports.request import REPEATS, ImportRequest
from write_side.imports.table import DELIMITERS, Choice, FileRefused, UnusedChoice
from write_side.imports.worker import HEAD_BYTES, check_choice, file_type

MOST_PARTS = 600
"""Parts of the form; each may map a column."""
NOT_A_FORM = "Send multipart/form-data with the parts file and contentType"
ENCODED = "Unsupported Content-Encoding: send the form uncompressed"
NOT_DONE = "This import is not done yet: revert it when its state is imported"
NOTHING = "This import has changed nothing: there is nothing to revert"
_ID = "{id:[^/]+}"
_RESULT = msgspec.json.Decoder(StoredResult)

ImportState = Literal["checking", "refused", "checked", "importing", "imported", "reverted"]
"""``checked`` means that a dry run is done."""
_MAP = re.compile(r"map\[(.+)\]", re.DOTALL)
_FIXED = ("scope", "content_type_slug", "import_id", "targets", "key")
_BOOLEANS = {"true": True, "false": False}


class AcceptedImport(Struct, frozen=True):
    id: str
    state: Literal["checking"] = "checking"


class AcceptedImportBody(Struct, frozen=True):
    success: bool
    data: AcceptedImport


class ImportProgress(Struct, frozen=True):
    """``rows``: of the file, null before it is read. ``done``: all of them at the end, since an
    import is one transaction."""

    rows: int | None
    done: int


class ImportStatus(Struct, frozen=True):
    """``message``: why the file was refused. ``report``: null while the import is in progress, and
    if the file as a whole was refused."""

    id: str
    state: ImportState
    progress: ImportProgress
    message: str | None = None
    report: ImportResult | None = None


class ImportStatusBody(Struct, frozen=True):
    success: bool
    data: ImportStatus


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


OPTIONS: Mapping[str, FieldInfo] = {
    _camel(field.name): field for field in fields(ImportRequest) if field.name not in _FIXED
}
"""The options of an import, by the names of their parts."""
CHOICES: Mapping[str, Collection[str]] = {
    "repeats": REPEATS,
    "status": STATUSES,
    "encoding": ENCODINGS,
    "delimiter": DELIMITERS,
}
READING = ("sheet", "encoding", "delimiter")


def import_options(call: Call, form: FileForm, import_id: str) -> JobOptions:
    """Raises BadRequest, which names the part. An empty part counts as absent, except the
    target of a column, and ``dryRun``: a script whose variable is not set must not import."""
    given = {name: text for name, text in form.fields.items() if text or name == "dryRun"}
    content_type, dry_run = given.pop("contentType", ""), given.pop("dryRun", "false")
    check_required(form.name, content_type)
    maps, key = tuple(_maps(form.fields)), given.pop("key", None)
    if "encoding" in given:
        given["encoding"] = encoding_named(given["encoding"])
    unknown = [
        name for name in given if name not in (*OPTIONS, *READING) and not _MAP.fullmatch(name)
    ]
    if unknown:
        known = ", ".join(("contentType", *OPTIONS, "key", "dryRun", *READING, "map[COLUMN]"))
        raise BadRequest(f"Unknown part {unknown[0]!r}; expected one of: file, {known}")
    options: dict[str, Any] = {
        option.name: _boolean(name, given[name]) if option.type is bool else _text(name, given)
        for name, option in OPTIONS.items()
        if name in given
    }
    request = ImportRequest(call.scope, content_type, import_id, **options)
    check_locale(request.language, "language")
    return JobOptions(
        request=request,
        choice=Choice(
            given.get("sheet"),
            _text("encoding", given),
            DELIMITERS.get(_text("delimiter", given) or ""),
        ),
        maps=maps,
        key=key,
        is_dry_run=_boolean("dryRun", dry_run),
        by=call.actor,
        request_id=call.request_id,
    )


def check_required(file_name: str, content_type: str) -> None:
    """Raises BadRequest, which names the parts that are missing."""
    required = {"file (with a file name)": file_name, "contentType": content_type.strip()}
    if missing := [part for part, sent in required.items() if not sent]:
        raise BadRequest(f"Missing required parts: {in_words(missing, 'and')}")


def _maps(parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of a column and its target; an empty target means not imported."""
    for name, target in parts.items():
        if match := _MAP.fullmatch(name):
            yield match[1], target


def _boolean(name: str, text: str) -> bool:
    if text not in _BOOLEANS:
        raise BadRequest(f"{name} takes true or false, not {shortened(text)!r}")
    return _BOOLEANS[text]


def _text(name: str, given: Mapping[str, str]) -> str | None:
    text, choices = given.get(name), CHOICES.get(name)
    if text is not None and choices is not None and text not in choices:
        raise BadRequest(f"{name} takes one of {', '.join(choices)}, not {shortened(text)!r}")
    return text


def routes() -> list[web.RouteDef]:
    return [
        web.post("/v1/imports", with_checks(check_edit, accept), expect_handler=defer_continue),
        web.get(f"/v1/imports/{_ID}", with_checks(check_edit, show)),
        web.post(f"/v1/imports/{_ID}/revert", with_checks(check_edit, revert)),
    ]


async def accept(call: Call) -> web.Response:
    """Responds when the file is stored; an accepted import runs even if this process ends."""
    key = command_key(call.request.headers.get(HEADER), call.caller.key_id, call.scope)
    if not is_form(call.request):
        raise UnsupportedMedia(NOT_A_FORM)
    if content_encoding(call.request):
        raise UnsupportedMedia(ENCODED)
    form = await FormReader(call, MOST_PARTS).read()
    if form.is_cut:
        raise BadRequest(
            f"The form has more than {MOST_PARTS} parts: leave out map[COLUMN] for columns whose "
            "heading matches"
        )
    async with call.service.file_turns.storing.turn(call.scope.workspace):
        if key is None:
            return await _accepted(call, form, None)
        with call.service.in_flight.reserve(key):
            return await _accepted(call, form, key)


async def _accepted(call: Call, form: FileForm, key: str | None) -> web.Response:
    repository, document = call.service.repository, await form.document()
    sent = await asyncio.to_thread(_digest, form, document)
    command = key and f"import/{key}"
    earlier = command and await jobs.earlier_job(repository, command, sent)
    if earlier:
        return _accepted_response(call, earlier)
    options = import_options(call, form, new_id())
    try:
        check_choice(options.choice, file_type(document[:HEAD_BYTES], form.name))
    except UnusedChoice as refused:
        raise BadRequest(f"{form.name} {refused}") from None
    except FileRefused as refused:
        raise UnsupportedMedia(f"{form.name} {refused}") from None
    check_text(form.name, "The name of the file")
    await repository.content_type(options.request.scope, options.request.content_type_slug)
    try:
        job_id = await jobs.accept_job(repository, options, form.name, document, sent, command)
    except jobs.TooManyJobs as refused:
        if refused.of_workspace:
            raise TooManyImports(jobs.MOST_OF_WORKSPACE) from None
        raise Busy("Too many imports are in progress") from None
    call.service.imports.wake()
    return _accepted_response(call, job_id)


def _digest(form: FileForm, document: bytes) -> bytes:
    """Takes tens of milliseconds for the largest file."""
    return digest(msgspec.msgpack.encode((sorted(form.fields.items()), form.name, document)))


def _accepted_response(call: Call, job_id: str) -> web.Response:
    """The same for every repeated request."""
    response = json_response(call, AcceptedImportBody(True, AcceptedImport(job_id)), 202)
    response.headers["Location"] = f"/v1/imports/{quote(job_id, safe='')}{_environment(call)}"
    return response


def _environment(call: Call) -> str:
    """The environment as a query parameter. Without it, Location would only work with the request's
    X-Environment header."""
    is_named = bool(call.request.query.get("environment"))
    environment = call.scope.environment
    return f"?environment={environment}" if is_named or environment != PRODUCTION else ""


async def show(call: Call) -> web.Response:
    """Includes imports of the dashboard and of the command line."""
    return await _shown(call, call.request.match_info["id"])


async def revert(call: Call) -> web.Response:
    """Responds when the revert is stored. A second revert does nothing."""
    import_id = call.request.match_info["id"]
    repository = call.service.repository
    job, report = await _job_and_report(call, import_id)
    if report is None:
        assert job is not None
        raise NothingToRevert(NOT_DONE if job.is_in_progress else NOTHING)
    reserve = call.service.limits.projection(call.caller)
    await revert_import(repository, call.scope, import_id, call.actor, call.request_id, reserve)
    return await _shown(call, import_id, 202)


async def _shown(call: Call, import_id: str, status: int = 200) -> web.Response:
    """An import is in progress until its job has ended, because the notes of cells are stored after
    the append."""
    job, report = await _job_and_report(call, import_id)
    if job is not None and job.is_in_progress and report is not None and report.reverted is None:
        report = None
    result: ImportResult | None = None
    if job is not None and job.result is not None:
        result = _RESULT.decode(job.result)
    if report is None:
        assert job is not None
        state: ImportState = job.state
        rows, message = job.rows, job.message
    else:
        logged = result_of_report(report)
        # The job has notes for each cell; the log has one text per row.
        result = logged if result is None else replace(result, reverted=logged.reverted)
        rows, message = len(report.rows), None
        state = "imported" if report.reverted is None else "reverted"
    if result is not None and OPERATE not in call.caller.permissions:
        result = without_positions(result)
    progress = ImportProgress(rows, 0 if result is None else rows or 0)
    shown = ImportStatus(import_id, state, progress, message, result)
    response = json_response(call, ImportStatusBody(True, shown), status)
    if report is not None:
        position = report.reverted.position if report.reverted else report.position
        await wait_until_readable(call, response, position)
    return response


async def _job_and_report(call: Call, import_id: str) -> tuple[JobStatus | None, Report | None]:
    """The job and the report in the log; at least one of them. The job is read first: if it has
    ended, the log has its events. Raises UnknownImport, also for an import of another workspace."""
    repository = call.service.repository
    job: JobStatus | None = None
    with suppress(UnknownImport):
        job = await jobs.job_status(repository, call.scope, import_id)
    try:
        return job, await import_report(repository, call.scope, import_id)
    except UnknownImport:
        if job is None:
            raise
        return job, None
