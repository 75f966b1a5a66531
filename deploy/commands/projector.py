"""`contentlog projector`"""

from __future__ import annotations

import asyncio
import os

import click

from deploy.databases import databases
from deploy.logs import configure_logs
from deploy.settings import load_settings


@click.command(
    short_help="The projector: catches up, follows; a second one stands by.",
    epilog="\b\nExample:\n  contentlog projector",
)
def command() -> None:
    """Bring the read model up to the log and keep it there, until SIGTERM or Ctrl-C.

    One projector is active for a read model; others stand by and take over.
    """
    from projector.process import ProjectorSettings
    from projector.process import run as project

    settings = load_settings(os.environ)
    configure_logs(settings)
    with databases(settings) as found:
        asyncio.run(project(ProjectorSettings(found.event_store_url, found.read_model_url)))
