"""What is around every page: whose workspace this is, and where one can go."""

from __future__ import annotations

from msgspec import Struct

from api.auth.keys import Caller
from api.dashboard.visit import Visit, link
from read_side.lookups import workspace_name
from read_side.refusals import ReadModelUnavailable
from write_side.domain.identity import PRODUCTION, STAGING


class Place(Struct, frozen=True):
    """A link of the frame; ``note`` says why it leads to no content."""

    name: str
    address: str
    current: bool
    note: str = ""


class Shell(Struct, frozen=True):
    """``start``: where one can go whatever was refused here."""

    workspace: str
    key: str
    environments: list[Place]
    places: list[Place]
    start: Place


# A page, the first part of its address, and the permission that it takes.
_PLACES = (
    ("Entries", "entries", "content.view"),
    ("Imports", "imports", "content.view"),
    ("Projections", "projections", ""),
)


def start_of(caller: Caller) -> str:
    """The first part of the address of the first page that is for this key."""
    return _open_to(caller)[0][1]


async def shell_of(visit: Visit) -> Shell:
    caller = visit.known_caller
    return Shell(
        workspace=await _name(visit),
        key=caller.key_name,
        environments=[_environment(visit, name) for name in (PRODUCTION, STAGING)],
        places=[
            Place(name, visit.link(part), part == _part(visit)) for name, part in _open_to(caller)
        ],
        start=Place(f"{_open_to(caller)[0][0]} in production", link(start_of(caller)), False),
    )


def _open_to(caller: Caller) -> list[tuple[str, str]]:
    return [
        (name, part)
        for name, part, permission in _PLACES
        if not permission or permission in caller.permissions
    ]


def _environment(visit: Visit, name: str) -> Place:
    caller = visit.known_caller
    note = ""
    if name not in caller.environments:
        note = "not set up"
    if name == STAGING and not caller.plan.staging:
        note = "not in your plan"
    there = "" if name == PRODUCTION else name
    address = link(_part(visit), environment=there)
    return Place(name.title(), address, name == visit.environment, note)


def _part(visit: Visit) -> str:
    """The same page of the other environment, as far as it can be there too."""
    parts = visit.request.path.split("/")[2:3]
    caller = visit.known_caller
    return next((part for _, part in _open_to(caller) if [part] == parts), start_of(caller))


async def _name(visit: Visit) -> str:
    """Its slug where the read model cannot tell: an error's page must not fail too."""
    workspace = visit.known_caller.workspace
    try:
        return await workspace_name(visit.service.read_model, workspace) or workspace
    except ReadModelUnavailable:
        return workspace
