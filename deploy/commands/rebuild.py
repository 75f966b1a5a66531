"""`contentlog rebuild`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from deploy.databases import Databases
from deploy.failures import Failed
from deploy.settings import Settings
from deploy.showing import on_terminal, show_differences, show_result, showing
from deploy.work import run_with

if TYPE_CHECKING:
    from projector.rebuild.build import BuildSettings


@click.command(
    short_help="Replay the log into a new read model, and switch to it.",
    epilog="\b\nExample:\n  contentlog rebuild",
)
@click.option(
    "--accept-differences",
    is_flag=True,
    help="Switch although the new read model is not what is served: a changed projection is not.",
)
def command(accept_differences: bool) -> None:
    """Build a read model from the log's first event on, compare it with the live one, and switch.

    Readers and writers go on meanwhile. Where rows differ they are listed and nothing is switched.
    What was live is kept: `contentlog rollback` goes back to it. Ended anywhere, the live read
    model is untouched; run it again.
    """
    run_with(lambda found, settings: _rebuild(found, settings, accept_differences))


async def _rebuild(found: Databases, settings: Settings, accept_differences: bool) -> None:
    from projector.rebuild.operations import Differs, rebuild

    try:
        with showing() as tell:
            done = await rebuild(
                build_settings(found, settings), accept_differences=accept_differences, report=tell
            )
    except Differs as error:
        show_differences(error.found)
        raise Failed(f"nothing was switched: {error}") from error
    show_differences(done.found)
    show_result(position=done.position, differences=len(done.found), notCompared=done.not_compared)
    if on_terminal():
        compared = (
            f"not compared: {done.not_compared}"
            if done.not_compared
            else f"{len(done.found)} differences accepted"
            if done.found
            else "equal to the one before"
        )
        click.echo(f"the read model made anew is live, at position {done.position}; {compared}")


def build_settings(found: Databases, settings: Settings) -> BuildSettings:
    from projector.rebuild.build import BuildSettings

    return BuildSettings(
        event_store_url=found.event_store_url,
        read_model_url=found.read_model_url,
        workers=settings.rebuild_workers or os.cpu_count() or 1,
        memory=settings.rebuild_memory,
    )
