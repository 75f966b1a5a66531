"""The wizard's steps, and the checks that those on an upload share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from api.context import REQUEST_ID
from api.dashboard.pages import EDIT, Action, Form, Handler, action, page, see
from api.dashboard.visit import Visit
from api.dashboard.wizard.places import place
from write_side.domain.identity import Actor, is_id
from write_side.domain.refusals import UnknownImport, UnknownUpload
from write_side.imports.report import Report, import_report
from write_side.imports.uploads import Upload, find_upload

STEPS = ("Upload", "Columns", "Preview", "Result")

Step = Callable[[Visit, Upload], Awaitable[web.StreamResponse]]
FormStep = Callable[[Visit, Upload, Form], Awaitable[web.StreamResponse]]


def step(handler: Step) -> Handler:
    """A page on an upload. What has been imported has a result, and nothing before it any more."""

    async def opened(visit: Visit) -> web.StreamResponse:
        return await _on_upload(visit, lambda upload: handler(visit, upload))

    return page(EDIT, opened)


def form_step(handler: FormStep) -> Handler:
    """The same for a form."""

    async def opened(visit: Visit, form: Form) -> web.StreamResponse:
        return await _on_upload(visit, lambda upload: handler(visit, upload, form))

    checked: Action = opened
    return action(EDIT, checked)


def back_to(name: str) -> Handler:
    """For whoever reloads the address of a form: the page that the form is on."""

    async def opened(visit: Visit, upload: Upload) -> web.StreamResponse:
        return see(visit.link("imports", upload.id, name))

    return step(opened)


def shown_at(address: str, response: web.StreamResponse) -> web.StreamResponse:
    """A form that was refused, under an address that can be reloaded: its own takes only forms."""
    response.headers["HX-Push-Url"] = address
    return response


async def report(visit: Visit) -> Report:
    """Raises UnknownImport, for one of another place and for what is no id at all too."""
    wanted = import_id(visit)
    if not is_id(wanted):
        raise UnknownImport(wanted)
    return await import_report(visit.service.repository, visit.scope, wanted)


async def is_imported(visit: Visit) -> bool:
    if not is_id(import_id(visit)):
        return False
    found = await visit.service.repository.find_import(import_id(visit))
    place = (visit.scope.workspace, visit.scope.environment)
    return found is not None and (found[0].workspace, found[0].environment) == place


async def _on_upload(
    visit: Visit, work: Callable[[Upload], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """An upload that goes meanwhile has been imported, as where a button was pressed twice."""
    if not await is_imported(visit):
        try:
            async with place(visit, "working"):
                return await work(await _upload(visit))
        except UnknownUpload:
            if not await is_imported(visit):
                raise
    return see(result_of(visit))


async def _upload(visit: Visit) -> Upload:
    """Raises UnknownUpload."""
    return await find_upload(visit.service.repository, visit.scope, import_id(visit))


def import_id(visit: Visit) -> str:
    """Of the upload too."""
    return visit.request.match_info["id"]


def result_of(visit: Visit) -> str:
    return visit.link("imports", import_id(visit))


def actor_of(visit: Visit) -> Actor:
    return Actor("key", visit.known_caller.key_id, visit.known_caller.key_name)


def request_of(visit: Visit) -> str:
    return visit.request[REQUEST_ID]


async def readable(visit: Visit, position: int) -> None:
    """Wait a little until what was appended can be read; a page that is early does no harm."""
    if position:
        service = visit.service
        await service.checkpoint.wait(position, service.settings.read_your_writes)
