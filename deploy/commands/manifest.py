"""`contentlog manifest`"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from deploy.databases import Databases, open_repository
from deploy.failures import Failed
from deploy.runner import json_option, note, run

EXAMPLE = """\b
Example:
  contentlog manifest show acme > acme.yaml
  contentlog manifest check acme.yaml"""


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

    async def work(found: Databases, _: object) -> None:
        from write_side.manifest.loader import read_manifest
        from write_side.manifest.snapshot import json_text, snapshot, yaml_text
        from write_side.manifest.source import ManifestError

        async with open_repository(found) as repository:
            manifest = await snapshot(repository, workspace)
        text = json_text(manifest) + b"\n" if as_json else yaml_text(manifest).encode()
        click.echo(text, nl=False)
        try:
            read_manifest(text, "this manifest", is_json=as_json)
        except ManifestError as error:
            note(f"{error}: `contentlog apply` refuses it; remove the parts that should not change")

    run(work, create=False)
