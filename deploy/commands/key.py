"""`contentlog key`"""

from __future__ import annotations

from datetime import date, datetime

import click
from msgspec import Struct

from deploy.databases import Databases, open_repository
from deploy.progress import show_rows, shown_once
from deploy.runner import json_option, operator, run, until_visible, utc_minute, workspace_option
from deploy.settings import Settings
from write_side.domain.identity import ENVIRONMENTS
from write_side.domain.workspace import (
    PERMISSIONS,
    Key,
    expiry_or_duration,
    new_secret,
    secret_hash,
)

EXAMPLE = """\b
Example:
  contentlog key issue --workspace acme --name web --permission content.published
  contentlog key issue --workspace acme --name ci --permission content.edit --expires 90d"""

_name = click.option("--name", required=True, metavar="N", help="The key's name.")


class ListedKey(Struct, frozen=True, rename="camel"):
    """``environment`` None: all. ``expires`` and ``last_used`` None: never."""

    name: str
    permissions: tuple[str, ...]
    environment: str | None
    issued_at: datetime
    expires: datetime | None
    expired: bool
    last_used: date | None

    def line(self) -> str:
        parts = [self.name, ", ".join(self.permissions)]
        if self.environment:
            parts.append(f"{self.environment} only")
        parts.append(f"issued {utc_minute(self.issued_at)}")
        if self.expires:
            parts.append(f"{'expired' if self.expired else 'expires'} {utc_minute(self.expires)}")
        parts.append(f"last used {self.last_used}" if self.last_used else "never used")
        return "  ".join(parts)


def _listed(key: Key, last_used: date | None, now: datetime) -> ListedKey:
    return ListedKey(
        name=key.name,
        permissions=key.permissions,
        environment=key.environment,
        issued_at=key.issued_at,
        expires=key.expires_at,
        expired=key.expires_at is not None and key.expires_at <= now,
        last_used=last_used,
    )


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
    help="What the key may do; repeat the option to give several.",
)
@click.option(
    "--environment",
    type=click.Choice(ENVIRONMENTS),
    help="The only environment in which the key works (default: all).",
)
@click.option(
    "--expires",
    metavar="T",
    help="When the key stops working: a date or time in UTC, or a duration such as 90d or 12h "
    "(default: never).",
)
def issue(
    workspace: str,
    name: str,
    permissions: tuple[str, ...],
    environment: str | None,
    expires: str | None,
) -> None:
    """Issue a key and print its secret, alone on standard output."""
    from write_side.commands import IssueKey
    from write_side.dispatch import execute
    from write_side.store.access import mark

    secret = new_secret()

    async def work(databases: Databases, _: Settings) -> None:
        async with open_repository(databases) as repository:
            # The event store's clock decides when the key expires.
            now = (await mark(repository.recorder.fetch)).now
            command = IssueKey(
                actor=operator(),
                workspace=workspace,
                name=name,
                permissions=tuple(dict.fromkeys(permissions)),
                secret_hash=secret_hash(secret),
                environment=environment,
                expires_at=expiry_or_duration(expires, now) if expires else None,
            )
            done = await execute(command, repository)
        click.echo(
            f"key {name!r} of {workspace!r} issued; the secret is shown only once:", err=True
        )
        with shown_once(f"secret of key {name!r}", "revoke the key, and issue it again"):
            click.echo(secret)
        await until_visible(databases, done.position)

    run(work)


@key_command.command(epilog="\b\nExample:\n  contentlog key revoke --workspace acme --name web")
@workspace_option
@_name
def revoke(workspace: str, name: str) -> None:
    """Revoke a key. It is refused from then on, and its name can be used again."""
    from write_side.commands import RevokeKey
    from write_side.dispatch import execute

    async def work(databases: Databases, _: Settings) -> None:
        command = RevokeKey(actor=operator(), workspace=workspace, name=name)
        async with open_repository(databases) as repository:
            await repository.workspace(workspace)
            done = await execute(command, repository)
        click.echo(f"key {name!r} of {workspace!r} revoked")
        await until_visible(databases, done.position)

    run(work)


@key_command.command("list", epilog="\b\nExample:\n  contentlog key list --workspace acme --json")
@workspace_option
@json_option
def list_keys(workspace: str, as_json: bool) -> None:
    """List the keys of a workspace that are not revoked, with the day of their last use (UTC)."""
    from write_side.store import access

    async def work(databases: Databases, _: Settings) -> None:
        async with open_repository(databases) as repository:
            await repository.workspace(workspace)
            keys = await repository.keys(workspace)
            fetch = repository.recorder.fetch
            days = await access.last_uses(fetch, [key.id for key in keys])
            now = (await access.mark(fetch)).now
        rows = [_listed(key, days.get(key.id), now) for key in keys]
        show_rows(rows, ListedKey.line, as_json=as_json)

    run(work)
