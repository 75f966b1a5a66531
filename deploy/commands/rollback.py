"""`contentlog rollback`"""

from __future__ import annotations

import click

from deploy.commands.rebuild import build_settings
from deploy.databases import Databases
from deploy.settings import Settings
from deploy.showing import on_terminal, show_result, showing
from deploy.work import run_with


@click.command(
    short_help="Back to the read model before the last rebuild.",
    epilog="\b\nExample:\n  contentlog rollback",
)
def command() -> None:
    """Bring the previous read model up to the log, then switch to it.

    Reads never go back in time. Run again, it goes forward to the read model that was rebuilt.
    """
    run_with(_rollback)


async def _rollback(found: Databases, settings: Settings) -> None:
    from projector.rebuild.operations import rollback

    with showing() as tell:
        position = await rollback(build_settings(found, settings), tell)
    show_result(position=position)
    if on_terminal():
        click.echo(f"the previous read model is live again, at position {position}")
