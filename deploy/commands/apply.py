"""`contentlog apply`"""

from __future__ import annotations

from pathlib import Path

import click

from deploy.databases import Databases, open_repository
from deploy.work import operator, run, until_visible


@click.command(
    short_help="Bring a workspace to what a manifest says.",
    epilog="\b\nExample:\n  contentlog apply acme.yaml --dry-run",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Tell what would change, and change nothing.")
@click.option(
    "--prune", is_flag=True, help="Remove content types, keys and media that FILE does not mention."
)
def command(file: Path, dry_run: bool, prune: bool) -> None:
    """Bring a workspace to what FILE (YAML or JSON) says, by events, and print what changed.

    A second run changes nothing. What FILE does not mention is left alone.
    """

    async def work(found: Databases) -> None:
        await _apply(found, file, dry_run=dry_run, prune=prune)

    run(work)


async def _apply(found: Databases, file: Path, *, dry_run: bool, prune: bool) -> None:
    from write_side.manifest.diff import diff
    from write_side.manifest.document import load_manifest
    from write_side.manifest.steps import apply_steps

    manifest = load_manifest(file)
    position = 0
    async with open_repository(found) as repository:
        steps = await diff(manifest, repository, operator(), prune=prune)
        if dry_run:
            for step in steps:
                click.echo(step.description)
        else:
            async for done in apply_steps(steps, repository):
                click.echo(done.step.description)
                if done.step.result:
                    click.echo(done.step.result)
                position = max(position, done.position)
    if not steps:
        click.echo("nothing to change")
    elif dry_run:
        click.echo("note: a dry run, nothing was changed", err=True)
    if position:
        await until_visible(found, position)
