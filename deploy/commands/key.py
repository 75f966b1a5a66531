"""`contentlog key`"""

from __future__ import annotations

import click
import msgspec

from deploy.databases import Databases, open_repository
from deploy.runner import json_option, operator, run, until_visible, workspace_option
from deploy.settings import Settings
from write_side.domain.workspace import PERMISSIONS, new_secret, secret_hash

EXAMPLE = """\b
Example:
  contentlog key issue --workspace acme --name web --permission content.view"""

_name = click.option("--name", required=True, metavar="N", help="The key's name.")


@click.group("key", epilog=EXAMPLE)
def key_command() -> None:
    """Issue, revoke and list API keys.

    A secret is shown once, when its key is issued; only a hash of it is kept.
    """


@key_command.command(epilog=EXAMPLE)
@workspace_option
@_name
@click.option(
    "--permission",
    "permissions",
    required=True,
    multiple=True,
    type=click.Choice(PERMISSIONS),
    help="May be given several times.",
)
def issue(workspace: str, name: str, permissions: tuple[str, ...]) -> None:
    """Issue a key and print its secret, alone on standard output."""
    from write_side.commands import IssueKey
    from write_side.dispatch import execute

    secret = new_secret()

    async def work(found: Databases, _: Settings) -> None:
        command = IssueKey(
            actor=operator(),
            workspace=workspace,
            name=name,
            permissions=tuple(dict.fromkeys(permissions)),
            secret_hash=secret_hash(secret),
        )
        async with open_repository(found) as repository:
            done = await execute(command, repository)
        click.echo(
            f"key {name!r} of {workspace!r} issued; the secret is shown only once:", err=True
        )
        click.echo(secret)
        await until_visible(found, done.position)

    run(work)


@key_command.command(epilog="\b\nExample:\n  contentlog key revoke --workspace acme --name web")
@workspace_option
@_name
def revoke(workspace: str, name: str) -> None:
    """Revoke a key. It is refused from then on, and its name can be used again."""
    from write_side.commands import RevokeKey
    from write_side.dispatch import execute

    async def work(found: Databases, _: Settings) -> None:
        command = RevokeKey(actor=operator(), workspace=workspace, name=name)
        async with open_repository(found) as repository:
            await repository.workspace(workspace)
            done = await execute(command, repository)
        click.echo(f"key {name!r} of {workspace!r} revoked")
        await until_visible(found, done.position)

    run(work)


@key_command.command("list", epilog="\b\nExample:\n  contentlog key list --workspace acme --json")
@workspace_option
@json_option
def list_keys(workspace: str, as_json: bool) -> None:
    """List the live keys of a workspace."""

    async def work(found: Databases, _: Settings) -> None:
        async with open_repository(found) as repository:
            await repository.workspace(workspace)
            keys = await repository.keys(workspace)
        if as_json:
            rows = [
                {"name": key.name, "permissions": key.permissions, "issuedAt": key.issued_at}
                for key in keys
            ]
            click.echo(msgspec.json.encode(rows))
            return
        for key in keys:
            permissions = ", ".join(key.permissions)
            click.echo(f"{key.name}  {permissions}  issued {key.issued_at:%Y-%m-%d %H:%M} UTC")

    run(work, create=False)
