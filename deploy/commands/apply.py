"""`contentlog apply`"""

from __future__ import annotations

from pathlib import Path

import click

from deploy.databases import Databases, open_repository
from deploy.runner import note, operator, run, until_visible
from write_side.domain.webhook_address import Network


@click.command("apply", epilog="\b\nExample:\n  contentlog apply acme.yaml --dry-run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option(
    "--prune",
    is_flag=True,
    help="Remove content types, keys, media and webhooks that FILE does not mention.",
)
def apply_command(file: Path, dry_run: bool, prune: bool) -> None:
    """Bring a workspace to the state that a manifest describes.

    FILE is YAML or JSON. Every change is printed. A second run changes nothing. Anything that FILE
    does not mention is kept.
    """
    run(
        lambda found, settings: _apply(found, file, settings.networks, dry_run=dry_run, prune=prune)
    )


async def _apply(
    found: Databases, file: Path, networks: tuple[Network, ...], *, dry_run: bool, prune: bool
) -> None:
    from write_side.manifest.diff import diff
    from write_side.manifest.loader import load_manifest
    from write_side.manifest.steps import apply_steps

    document = load_manifest(file)
    position = 0
    async with open_repository(found) as repository:
        steps = await diff(document, repository, operator(), prune=prune, networks=networks)
        if dry_run:
            for step in steps:
                click.echo(step.planned)
        else:
            async for done in apply_steps(steps, repository):
                click.echo(done.step.done)
                if done.step.result:
                    click.echo(done.step.result)
                position = max(position, done.position)
    for problem in document.source.notes:
        note(problem.text(str(file)))
    if not steps:
        click.echo("no changes")
    elif dry_run:
        note("this was a dry run; nothing has changed")
    if position:
        await until_visible(found, position)
