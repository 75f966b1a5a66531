"""`contentlog webhook`"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from deploy.databases import Databases, open_read_model, open_repository
from deploy.failures import Failed, printable
from deploy.progress import show_result, show_rows, shown_once
from deploy.runner import (
    WholeNumber,
    json_option,
    operator,
    run,
    until_visible,
    workspace_option,
)
from deploy.settings import Settings
from write_side.domain.refusals import count

if TYPE_CHECKING:
    from api.webhooks.operations import ListedWebhook, WebhookOperations
    from write_side.store.webhook_cursors import Delivery, Outcome

EXAMPLE = """\b
Example:
  contentlog webhook list --workspace acme
  contentlog webhook replay search --workspace acme --after 2027-01-31T09:30:00Z"""
T = TypeVar("T")
Work = Callable[["WebhookOperations", Databases, Settings], Coroutine[Any, Any, T]]

_name = click.argument("name")


@click.group("webhook", epilog=EXAMPLE)
def webhook_command() -> None:
    """List, test and replay the webhooks of a workspace.

    `contentlog apply` creates, changes and removes them; `contentlog webhooks` delivers.
    """


@webhook_command.command(
    "list", epilog="\b\nExample:\n  contentlog webhook list --workspace acme --json"
)
@workspace_option
@json_option
def list_webhooks(workspace: str, as_json: bool) -> None:
    """List the endpoints, with the state of each."""
    rows = _run(workspace, lambda operations, *_: operations.list())
    show_rows(rows, _webhook_line, as_json=as_json)


@webhook_command.command(
    epilog="\b\nExample:\n  contentlog webhook deliveries search --workspace acme --failed"
)
@_name
@workspace_option
@click.option("--failed", is_flag=True, help="Only those that failed.")
@click.option("--since", metavar="TIME", help="Only those since a time in UTC.")
@click.option(
    "--limit",
    type=WholeNumber(1, 200),
    default=20,
    show_default=True,
    help="The most deliveries to list.",
)
@json_option
def deliveries(
    name: str, workspace: str, failed: bool, since: str | None, limit: int, as_json: bool
) -> None:
    """List the last deliveries to an endpoint, newest first. The last 200 are kept."""
    from write_side.domain.workspace import expiry

    rows = _run(
        workspace,
        lambda operations, *_: operations.deliveries(
            name,
            outcome="failed" if failed else "",
            since=expiry(since) if since else None,
            limit=limit,
        ),
    )
    show_rows(rows, _delivery_line, as_json=as_json)


@webhook_command.command(epilog="\b\nExample:\n  contentlog webhook test search --workspace acme")
@_name
@workspace_option
@json_option
def test(name: str, workspace: str, as_json: bool) -> None:
    """Send a message of type webhook.test now, from this machine, and print the response.

    Exit status 1 if it was not accepted.
    """
    outcome = _run(
        workspace, lambda operations, _, settings: operations.test(name, settings.networks)
    )
    if as_json:
        click.echo(msgspec.json.encode(outcome))
    if outcome.error is not None:
        raise Failed(f"webhook {name!r} did not accept the message: {outcome.error}")
    if not as_json:
        click.echo(f"webhook {name!r} accepted the message: {_outcome(outcome)}")


@webhook_command.command(
    epilog="\b\nExample:\n"
    "  contentlog webhook replay search --workspace acme --after 2027-01-31T09:30:00Z"
)
@_name
@workspace_option
@click.option(
    "--after",
    required=True,
    metavar="TOKEN|TIME",
    help="The id of the last change that is not delivered again, or a time in UTC.",
)
@json_option
def replay(name: str, workspace: str, after: str, as_json: bool) -> None:
    """Deliver again all changes after one of them, or after a time, with the same ids."""

    async def work(operations: WebhookOperations, databases: Databases, _: Settings) -> Any:
        async with open_read_model(databases) as read_model:
            return await operations.replay(name, after, read_model)

    replayed = _run(workspace, work)
    off = "is switched off; once it is enabled, it " if replayed.is_off else ""
    text = f"webhook {name!r} {off}continues {_after(replayed.at)}"
    show_result(text, as_json=as_json, after=replayed.at)


@webhook_command.command(epilog="\b\nExample:\n  contentlog webhook enable search --workspace acme")
@_name
@workspace_option
@json_option
def enable(name: str, workspace: str, as_json: bool) -> None:
    """Switch an endpoint on. It continues after the last change that was delivered."""

    async def work(operations: WebhookOperations, databases: Databases, _: Settings) -> Any:
        position = await operations.enable(name, operator())
        after = await operations.continues_after(name)
        if position:
            await until_visible(databases, position)
        return bool(position), after

    switched, after = _run(workspace, work)
    state = "switched on" if switched else "on already"
    text = f"webhook {name!r} is {state}; it continues {_after(after)}"
    show_result(text, as_json=as_json, switchedOn=switched, after=after)


@webhook_command.command(epilog="\b\nExample:\n  contentlog webhook rotate search --workspace acme")
@_name
@workspace_option
@click.option("--at-once", is_flag=True, help="Stop signing with earlier secrets immediately.")
@json_option
def rotate(name: str, workspace: str, at_once: bool, as_json: bool) -> None:
    """Create a new signing secret and print it, alone on standard output.

    For 24 hours, deliveries are signed with the old secret too; after several rotations, with the
    two secrets before the new one.
    """
    secret = _run(
        workspace, lambda operations, *_: operations.rotate(name, operator(), at_once=at_once)
    )
    if not as_json:
        click.echo(f"new secret of webhook {name!r}; it is shown only once:", err=True)
    with shown_once(f"new secret of webhook {name!r}", "rotate it again"):
        show_result(secret, as_json=as_json, secret=secret)


def _run(workspace: str, work: Work[T]) -> T:
    from api.webhooks.operations import WebhookOperations

    async def with_operations(databases: Databases, settings: Settings) -> T:
        async with open_repository(databases) as repository:
            return await work(WebhookOperations(repository, workspace), databases, settings)

    return run(with_operations)


def _webhook_line(row: ListedWebhook) -> str:
    selected = ", ".join((*row.types, *row.events)) or "all changes"
    parts = [row.name, row.state, row.url, row.environment, selected]
    parts.append(f"{count(row.deliveries, 'delivery', 'deliveries')}, {row.failures:,} failed")
    if row.off is not None:
        parts.append(f"switched off: {row.off}")
    elif row.failing_since:
        parts.append(f"failing since {_time(row.failing_since)}: {row.last_error}")
    return "  ".join(parts)


def _delivery_line(row: Delivery) -> str:
    about = [f"#{row.number}", _time(row.at), row.type, _outcome(row)]
    if row.attempt > 1:
        about.append(f"try {row.attempt}")
    response = printable(" ".join(row.response.split())[:100])
    return "  ".join([*about, response] if response else about)


def _outcome(outcome: Outcome) -> str:
    result = outcome.error or f"HTTP {outcome.status}"
    return f"{result}, {outcome.duration_ms} ms"


def _after(at: datetime | None) -> str:
    return "from the beginning" if at is None else f"after the changes of {_time(at)}"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
