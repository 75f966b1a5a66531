"""`contentlog apply` and `contentlog manifest`"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click
import msgspec

from deploy.databases import Databases, open_repository
from deploy.failures import Failed
from deploy.progress import shown_once
from deploy.runner import json_option, note, operator, run, until_visible
from write_side.domain.webhook import Network

EXAMPLE = """\b
Example:
  contentlog manifest show acme > acme.yaml
  contentlog manifest check acme.yaml"""


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
        lambda databases, settings: _apply(
            databases, file, settings.networks, dry_run=dry_run, prune=prune
        )
    )


async def _apply(
    databases: Databases, file: Path, networks: tuple[Network, ...], *, dry_run: bool, prune: bool
) -> None:
    from write_side.manifest.diff import diff
    from write_side.manifest.loader import load_manifest
    from write_side.manifest.steps import apply_steps

    document = load_manifest(file)
    position = 0
    async with open_repository(databases) as repository:
        steps = await diff(document, repository, operator(), prune=prune, networks=networks)
        if dry_run:
            for step in steps:
                click.echo(step.planned)
        else:
            async for step, reached in apply_steps(steps, repository):
                secret = f"secret of {step.subject}"
                with shown_once(secret, step.remedy) if step.remedy else nullcontext():
                    click.echo(step.done)
                    if step.result:
                        click.echo(step.result)
                position = max(position, reached)
    for problem in document.source.notes:
        note(problem.text(str(file)))
    if not steps:
        click.echo("no changes")
    elif dry_run:
        note("this was a dry run; nothing has changed")
    if position:
        await until_visible(databases, position)


@click.group("manifest", epilog=EXAMPLE)
def manifest_command() -> None:
    """Check a manifest, or print that of a workspace.

    `contentlog apply` brings a workspace to the state that a manifest describes.
    """


@manifest_command.command(
    epilog="\b\nExample:\n  contentlog manifest schema > manifest.schema.json"
)
def schema() -> None:
    """Print the JSON Schema of manifests, for editors."""
    from write_side.manifest.document import json_schema

    click.echo(json_schema(), nl=False)


@manifest_command.command(epilog="\b\nExample:\n  contentlog manifest check acme.yaml")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def check(file: Path, as_json: bool) -> None:
    """Check a manifest without a database: every error, with its line and column.

    `contentlog apply --dry-run` checks what depends on the workspace, such as the types of its
    fields.
    """
    from write_side.manifest.loader import load_manifest
    from write_side.manifest.source import ManifestError

    try:
        notes = load_manifest(file).source.notes
    except ManifestError as error:
        if not as_json:
            raise
        click.echo(msgspec.json.encode({"errors": error.problems, "notes": []}))
        raise Failed(f"{file} is not a valid manifest") from None
    if as_json:
        click.echo(msgspec.json.encode({"errors": [], "notes": notes}))
        return
    click.echo(f"{file} is a valid manifest")
    for problem in notes:
        note(problem.text(str(file)))


@manifest_command.command(epilog="\b\nExample:\n  contentlog manifest show acme > acme.yaml")
@click.argument("workspace")
@json_option
def show(workspace: str, as_json: bool) -> None:
    """Print the manifest of a workspace's current state, in YAML.

    Applying it changes nothing. Keys are printed without their secrets, which are not stored:
    existing keys keep theirs, and if a key does not exist, `contentlog apply` generates one. A
    manifest that is larger than `contentlog apply` reads is printed, with a note.
    """

    async def work(databases: Databases, _: object) -> None:
        from write_side.manifest.loader import read_manifest
        from write_side.manifest.snapshot import json_text, snapshot, yaml_text
        from write_side.manifest.source import ManifestError

        async with open_repository(databases) as repository:
            manifest = await snapshot(repository, workspace)
        text = json_text(manifest) + b"\n" if as_json else yaml_text(manifest).encode()
        click.echo(text, nl=False)
        try:
            read_manifest(text, "this manifest", is_json=as_json)
        except ManifestError as error:
            note(f"{error}: `contentlog apply` refuses it; remove the parts that should not change")

    run(work)
