"""`contentlog key`"""

from __future__ import annotations

import click
import msgspec

from deploy.databases import Databases, open_repository
from deploy.work import operator, run, until_visible

EXAMPLE = """\b
Example:
  contentlog key issue --workspace acme --name web --permission content.view"""
PERMISSIONS = ("content.view", "content.edit", "service.view")

_workspace = click.option("--workspace", required=True, metavar="W", help="The workspace's slug.")
_name = click.option("--name", required=True, metavar="N", help="The key's name.")


@click.group(
    short_help="API keys: issue, revoke, list.",
    epilog=EXAMPLE,
)
def command() -> None:
    """API keys. A secret is shown once, when its key is issued; only a hash of it is kept."""


@command.command(epilog=EXAMPLE)
@_workspace
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
    from write_side.manifest.steps import new_secret, secret_hash

    secret = new_secret()

    async def work(found: Databases) -> None:
        wanted = IssueKey(
            actor=operator(),
            workspace=workspace,
            name=name,
            permissions=tuple(dict.fromkeys(permissions)),
            secret_hash=secret_hash(secret),
        )
        async with open_repository(found) as repository:
            done = await execute(wanted, repository)
        click.echo(f"key {name} of {workspace} issued; its secret is shown this once:", err=True)
        click.echo(secret)
        await until_visible(found, done.position)

    run(work)


@command.command(epilog="\b\nExample:\n  contentlog key revoke --workspace acme --name web")
@_workspace
@_name
def revoke(workspace: str, name: str) -> None:
    """Revoke a key: it is refused from then on, and its name is free again."""
    from write_side.commands import RevokeKey
    from write_side.dispatch import execute

    async def work(found: Databases) -> None:
        wanted = RevokeKey(actor=operator(), workspace=workspace, name=name)
        async with open_repository(found) as repository:
            await repository.workspace(workspace)
            done = await execute(wanted, repository)
        click.echo(f"key {name} of {workspace} revoked")
        await until_visible(found, done.position)

    run(work)


@command.command("list", epilog="\b\nExample:\n  contentlog key list --workspace acme --json")
@_workspace
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys(workspace: str, as_json: bool) -> None:
    """List the live keys of a workspace."""

    async def work(found: Databases) -> list[dict[str, object]]:
        async with open_repository(found) as repository:
            await repository.workspace(workspace)
            keys = await repository.keys(workspace)
        return [
            {"name": key.name, "permissions": key.permissions, "issuedAt": key.issued_at}
            for key in keys
        ]

    keys = run(work, make=False)
    if as_json:
        click.echo(msgspec.json.encode(keys))
        return
    for key in keys:
        permissions = ", ".join(key["permissions"])  # type: ignore[arg-type]
        click.echo(f"{key['name']}  {permissions}  issued {key['issuedAt']:%Y-%m-%d %H:%M} UTC")
