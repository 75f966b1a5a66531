"""The layout around every page: the workspace, its environments and the navigation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from api.auth.keys import Caller
from api.dashboard.dashboard_request import DashboardRequest, in_url, link
from read_side.lookups import workspace_name
from read_side.refusals import ReadModelUnavailable
from write_side.domain.identity import PRODUCTION, STAGING
from write_side.domain.workspace import VIEW


class NavigationLink(Struct, frozen=True):
    """``note`` says why an environment has no content."""

    name: str
    address: str
    current: bool = False
    note: str = ""


class Layout(Struct, frozen=True):
    """``start``: a page that this key may see, offered on error pages."""

    workspace: str
    key: str
    environments: list[NavigationLink]
    sections: list[NavigationLink]
    start: NavigationLink


_SECTIONS_OF_CONTENT = ("entries", "imports", "activity", "webhooks")
"""The first segments of their paths."""


def start_address(caller: Caller) -> str:
    """The URL of the first section that the key may see, in the environment where it works."""
    environment = caller.environment or PRODUCTION
    return link(_sections(caller)[0], environment=in_url(environment))


async def layout_of(request: DashboardRequest) -> Layout:
    caller = request.caller
    current = _current_section(request)
    sections = _sections(caller)
    start = f"{sections[0].title()} in {caller.environment or PRODUCTION}"
    return Layout(
        workspace=await _workspace_name(request),
        key=caller.key_name,
        environments=[_environment(request, name) for name in (PRODUCTION, STAGING)],
        sections=[
            NavigationLink(part.title(), request.link(part), part == current) for part in sections
        ],
        start=NavigationLink(start, start_address(caller)),
    )


def _sections(caller: Caller) -> Sequence[str]:
    """The sections that the key may see."""
    of_content = _SECTIONS_OF_CONTENT if VIEW in caller.permissions else ()
    return (*of_content, "projections")


def _environment(request: DashboardRequest, name: str) -> NavigationLink:
    """A link to the same section in another environment."""
    caller = request.caller
    note = "" if name in caller.environments else "not set up"
    if name == STAGING and not caller.plan.staging:
        note = "not in your plan"
    if caller.environment not in (None, name):
        note = "not for this key"
    # A URL without an environment means the one in which the key works.
    environment = name if caller.environment else in_url(name)
    address = link(_current_section(request), environment=environment)
    return NavigationLink(name.title(), address, name == request.environment, note)


def _current_section(request: DashboardRequest) -> str:
    parts, sections = request.request.path.split("/")[2:3], _sections(request.caller)
    return next((part for part in sections if [part] == parts), sections[0])


async def _workspace_name(request: DashboardRequest) -> str:
    """The slug if the read model is unavailable, so that an error page does not fail too."""
    slug = request.caller.workspace
    try:
        return await workspace_name(request.service.read_model, slug) or slug
    except ReadModelUnavailable:
        return slug
