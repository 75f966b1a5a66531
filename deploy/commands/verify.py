"""`contentlog verify`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deploy.commands.rebuild import build_settings
from deploy.databases import Databases
from deploy.failures import Failed
from deploy.settings import Settings
from deploy.showing import on_terminal, show_differences, show_result, showing
from deploy.work import run_with

if TYPE_CHECKING:
    from projector.rebuild.operations import Verified


@click.command(
    short_help="Prove that log, claims and read model agree.",
    epilog="\b\nExample:\n  contentlog verify",
)
@click.option(
    "--repair",
    is_flag=True,
    help="Make claims and usage, which are derived from the log, as the log says.",
)
def command(repair: bool) -> None:
    """Replay the log apart, and compare the read model, the claims and the usage with it.

    Every row that differs is printed, and the exit status is 1 then. Readers and writers go on.
    A read model that differs is mended by `contentlog rebuild --accept-differences`.
    """
    run_with(lambda found, settings: _verify(found, settings, repair))


async def _verify(found: Databases, settings: Settings, repair: bool) -> None:
    from projector.rebuild.operations import repair_claims, verify

    of_build = build_settings(found, settings)
    with showing() as tell:
        seen = await verify(of_build, tell)
    show_differences([*seen.read_model, *seen.claims])
    repaired = await repair_claims(of_build, seen.claims) if repair and seen.claims else 0
    show_result(
        position=seen.position,
        readModel=len(seen.read_model),
        notCompared=seen.not_compared,
        claims=len(seen.claims),
        repaired=repaired,
    )
    if repaired and on_terminal():
        click.echo(f"{repaired} rows of claims and usage were made as the log says")
    _refuse(seen, repaired)
    if on_terminal():
        click.echo(f"log, claims and read model agree, at position {seen.position}")


def _refuse(seen: Verified, repaired: int) -> None:
    """Exit status 1 while anything is not as the log says."""
    wrong = []
    if seen.not_compared:
        wrong.append(f"the read model cannot be compared: {seen.not_compared}")
    if seen.read_model:
        wrong.append(
            f"{len(seen.read_model)} rows of the read model are not as the log says: "
            "contentlog rebuild --accept-differences makes them so"
        )
    if len(seen.claims) > repaired:
        wrong.append(
            f"{len(seen.claims)} rows of claims and usage are not as the log says: "
            "contentlog verify --repair makes them so"
        )
    if wrong:
        raise Failed("; ".join(wrong))
