"""`contentlog changes`"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import click

from deploy.databases import Databases, connect_read_model, open_read_model, open_repository
from deploy.failures import Failed, no_content_type, printable
from deploy.runner import environment_option, json_option, note, run, workspace_option
from deploy.settings import Settings
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownContentType
from write_side.waiting import wait_until_set

if TYPE_CHECKING:
    from api.changes.bodies import Change, ChangeView

NOW = "now"
POLL = 1.0  # seconds


@click.command(
    "changes",
    epilog="\b\nExample:\n  contentlog changes --workspace acme --follow\n"
    "  contentlog changes --workspace acme --after now --follow --json | jq .type",
)
@workspace_option
@environment_option
@click.option("--type", "type_slug", metavar="T", help="Only of the content type with this slug.")
@click.option(
    "--after",
    default="",
    metavar="TOKEN",
    help="Only after the change with this id; now: only new ones.",
)
@click.option("--follow", is_flag=True, help="Continue with new changes until Ctrl-C.")
@json_option
def changes_command(
    workspace: str,
    environment: str,
    type_slug: str | None,
    after: str,
    follow: bool,
    as_json: bool,
) -> None:
    """Print the changes of entries and content types, oldest first.

    The same as GET /v1/changes. With --json, each line is one change in JSON.
    """
    from api.rest.wire import encode

    async def work(databases: Databases, _: Settings) -> None:
        scope = Scope(workspace, environment)
        view = await _view(databases, scope, type_slug)
        found = _changes(databases, view, after, follow=follow)
        async with contextlib.aclosing(found) as changes:
            async for change in changes:
                click.echo(encode(change) if as_json else _line(change))

    with contextlib.suppress(KeyboardInterrupt):
        run(work)


async def _view(databases: Databases, scope: Scope, type_slug: str | None) -> ChangeView:
    """Prints a note for an unknown content type: it may have been removed, and still has changes.
    Raises the refusals of an unknown workspace or environment."""
    from api.changes.bodies import ChangeView
    from api.rest.tokens import ChangeTokens
    from read_side.changes import ChangeSelection
    from write_side.handlers.checks import check_scope
    from write_side.store.access import token_key

    async with open_repository(databases) as repository:
        await check_scope(scope, repository)
        if type_slug is not None:
            try:
                await repository.content_type(scope, type_slug)
            except UnknownContentType:
                note(no_content_type(scope, type_slug).message)
        tokens = ChangeTokens(await token_key(repository.recorder.fetch))
    types = () if type_slug is None else (type_slug,)
    return ChangeView(tokens, scope, ChangeSelection(types))


async def _changes(
    databases: Databases, view: ChangeView, after: str, *, follow: bool
) -> AsyncGenerator[Change, None]:
    from read_side.changes import BEGINNING, END, MOST, changes_after
    from read_side.notices import CHANNEL

    moved = asyncio.Event()
    async with (
        connect_read_model(databases) as connection,
        open_read_model(databases) as pool,
    ):
        if follow:
            await connection.add_listener(CHANNEL, lambda *_: moved.set())
        position = END if after == NOW else _position(view, after) if after else BEGINNING
        while True:
            moved.clear()
            page = await changes_after(pool, view.scope, view.selection, position, MOST)
            if after not in ("", NOW) and view.token(page.anchor) != after:
                raise Failed("the feed no longer has the change of --after")
            for change in view.changes(page.changes, view.previous(page), {}):
                yield change
            after = ""
            if page.changes:
                position = page.changes[-1].position
            elif position == END:
                position = page.through
            if not page.is_last:
                continue
            if not follow:
                return
            await wait_until_set(moved, POLL)


def _position(view: ChangeView, token: str) -> int:
    found = view.tokens.position(view.scope, token)
    if found is None:
        raise Failed(
            f"'{token}' is not the id of a change in {view.scope.environment}; use one that "
            "`contentlog changes --json` prints, or now"
        )
    return found.position


def _line(change: Change) -> str:
    time = change.at.replace("T", " ")[:19]
    if change.entry is None:
        assert change.content_type
        return f"{time} UTC  {change.type}  {change.content_type.slug}"
    entry = change.entry
    name = f"{entry.content_type}/{printable(entry.slug)}"
    return f"{time} UTC  {change.type}  {name}  {entry.language}  version {entry.version}"
