"""`contentlog migrate`"""

from __future__ import annotations

import click

from deploy.databases import Databases, connected
from deploy.work import run


@click.command(
    short_help="Bring the event store's schema up to date, create the read model.",
    epilog="\b\nExample:\n  contentlog migrate",
)
def command() -> None:
    """Bring the event store's schema up to date, and create the read model where there is none.

    Safe to run at any time, by several at once.
    """
    for line in run(migrated):
        click.echo(line)


async def migrated(found: Databases) -> list[str]:
    """Migrate; returns what was done, in words."""
    from read_side import schema
    from write_side.store.migrations import migrate

    async with connected("CONTENTLOG_EVENT_STORE_URL", found.event_store_url) as connection:
        steps = await migrate(connection)
    async with connected("CONTENTLOG_READ_MODEL_URL", found.read_model_url) as connection:
        created = await schema.create(connection)
    return [
        *(f"event store: {step}" for step in steps or ["up to date"]),
        f"read model: {'created' if created else 'there already'}",
    ]
