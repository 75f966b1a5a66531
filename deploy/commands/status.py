"""`contentlog status`"""

from __future__ import annotations

from typing import Any

import click
import msgspec

from deploy.databases import Databases, connected
from deploy.work import run

# With the first event after $1, which is the oldest that is not projected; it may be damaged.
_STORE = """
SELECT head.position AS head,
       (SELECT e.state FROM write_side.event e WHERE e.notification_id = $1 + 1) AS state,
       (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'write_side' AND c.relkind = 'r') AS size
FROM write_side.head"""


@click.command(
    short_help="Head, checkpoint, lag, projectors, sizes.",
    epilog="\b\nExample:\n  contentlog status --json",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Print how far the log and the read model are, and who is projecting."""
    status = run(read, make=False)
    click.echo(msgspec.json.encode(status) if as_json else _told(status))


async def read(found: Databases) -> dict[str, Any]:
    """Lag is measured against the store: events, and the age of the oldest one not projected."""
    from read_side.status import read_size, read_status
    from write_side.store.recorder import age

    async with connected("CONTENTLOG_READ_MODEL_URL", found.read_model_url) as connection:
        model, size = await read_status(connection), await read_size(connection)
    async with connected("CONTENTLOG_EVENT_STORE_URL", found.event_store_url) as connection:
        store = await connection.fetchrow(_STORE, model.position)
    assert store is not None
    events = store["head"] - model.position
    return {
        "head": store["head"],
        "checkpoint": model.position,
        "lag": {"events": events, "seconds": age(store["state"]) if events > 0 else 0.0},
        "epoch": model.epoch,
        "projectors": msgspec.to_builtins(model.projectors),
        "rebuild": msgspec.to_builtins(model.work),
        "bytes": {"event_store": store["size"], "read_model": size},
    }


def _told(status: dict[str, Any]) -> str:
    lag, sizes = status["lag"], status["bytes"]
    lines = [
        f"head        {status['head']}",
        f"checkpoint  {status['checkpoint']}",
        f"lag         {lag['events']} events, {lag['seconds']:.1f} s",
        *map(_projector, status["projectors"]),
        f"event store {sizes['event_store']:,} bytes",
        f"read model  {sizes['read_model']:,} bytes, epoch {status['epoch']}",
    ]
    if not status["projectors"]:
        lines.insert(3, "projector   none is running")
    if work := status["rebuild"]:
        lines.append(
            f"{work['name']:11} {work['phase']}, {work['done']:,} of {work['total']:,}, "
            f"since {work['seconds']:.0f} s"
        )
    return "\n".join(lines)


def _projector(one: dict[str, Any]) -> str:
    halted = f", HALTED: {one['halted']}" if one["halted"] else ""
    return (
        f"projector   {one['role']}, {one['id']}, heard of {one['heartbeat_age']:.1f} s ago{halted}"
    )
