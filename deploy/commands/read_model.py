"""`contentlog rebuild`, `rollback` and `verify`: the read model built from the log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from deploy.databases import (
    Databases,
    connect_event_store,
    connect_owner,
    connect_read_model,
)
from deploy.failures import Failed
from deploy.progress import progress, show_differences, show_result
from deploy.runner import json_option, read_model_option, run
from deploy.settings import Settings
from write_side.domain.refusals import ExplainedError, count

if TYPE_CHECKING:
    from projector.rebuild.build import BuildSettings
    from projector.rebuild.operations import VerificationResult


@click.command("rebuild", epilog="\b\nExample:\n  contentlog rebuild")
@click.option(
    "--accept-differences",
    is_flag=True,
    help="Switch even if the new read model differs from the live one, as after a changed "
    "projection.",
)
@read_model_option
@json_option
def rebuild_command(accept_differences: bool, as_json: bool) -> None:
    """Replay the log into a new read model and switch to it.

    The new one is compared with the live one first. If rows differ, they are listed and the live
    read model is kept. After a switch the previous one is kept: `contentlog rollback` returns to
    it. Reads and writes continue meanwhile. An interrupted rebuild leaves the live read model
    unchanged; run it again.
    """
    run(lambda databases, settings: _rebuild(databases, settings, accept_differences, as_json))


async def _rebuild(
    databases: Databases, settings: Settings, accept_differences: bool, as_json: bool
) -> None:
    from projector.rebuild.operations import ReadModelMismatch, rebuild

    build = await _build_settings(databases, settings)
    try:
        with progress(as_json=as_json) as report:
            done = await rebuild(build, accept_differences=accept_differences, report=report)
    except ReadModelMismatch as error:
        show_differences(error.differences, as_json=as_json)
        raise Failed(f"the live read model is unchanged: {error}") from error
    show_differences(done.differences, as_json=as_json)
    compared = "equal to the previous one"
    if done.not_compared:
        compared = f"not compared: {done.not_compared}"
    elif done.differences:
        compared = f"{count(len(done.differences), 'difference')} accepted"
    show_result(
        f"the new read model is live, at position {done.position}; {compared}",
        as_json=as_json,
        position=done.position,
        differences=len(done.differences),
        notCompared=done.not_compared,
    )


@click.command("rollback", epilog="\b\nExample:\n  contentlog rollback")
@read_model_option
@json_option
def rollback_command(as_json: bool) -> None:
    """Return to the read model before the last rebuild.

    It is brought up to date with the log first, so reads never go back in time. A second rollback
    returns to the rebuilt read model.
    """
    run(lambda databases, settings: _rollback(databases, settings, as_json))


async def _rollback(databases: Databases, settings: Settings, as_json: bool) -> None:
    from projector.rebuild.operations import rollback

    build = await _build_settings(databases, settings)
    with progress(as_json=as_json) as report:
        position = await rollback(build, report)
    text = f"the previous read model is live again, at position {position}"
    show_result(text, as_json=as_json, position=position)


@click.command("verify", epilog="\b\nExample:\n  contentlog verify")
@click.option(
    "--repair",
    is_flag=True,
    help="Correct claims, usage and snapshots of entries, which are derived from the log.",
)
@read_model_option
@json_option
def verify_command(repair: bool, as_json: bool) -> None:
    """Check that log, claims and read model agree.

    Replays the log into a scratch schema, and compares the read model, claims, usage and snapshots
    of entries with it. Prints every row that differs, and exits with status 1 if there are any.
    Reads and writes continue. To repair the read model, run
    `contentlog rebuild --accept-differences`.
    """
    run(lambda databases, settings: _verify(databases, settings, repair, as_json))


async def _verify(databases: Databases, settings: Settings, repair: bool, as_json: bool) -> None:
    from projector.rebuild.operations import verify
    from write_side.verification.claim_check import repair_claims

    build = await _build_settings(databases, settings)
    with progress(as_json=as_json) as report:
        verified = await verify(build, report)
    show_differences([*verified.read_model, *verified.claims], as_json=as_json)
    repaired = 0
    if repair and verified.claims:
        async with connect_owner(databases) as owner:
            repaired = await repair_claims(owner, verified.claims)
    show_result(
        f"{count(repaired, 'row')} of claims, usage and snapshots repaired" if repaired else None,
        as_json=as_json,
        position=verified.position,
        readModel=len(verified.read_model),
        notCompared=verified.not_compared,
        claims=len(verified.claims),
        repaired=repaired,
    )
    _refuse(verified, repaired)
    if not as_json:
        click.echo(f"log, claims and read model agree, at position {verified.position}")


def _refuse(verified: VerificationResult, repaired: int) -> None:
    """Raises ExplainedError if anything differs from the log."""
    wrong = []
    if verified.not_compared:
        wrong.append(f"the read model cannot be compared: {verified.not_compared}")
    if verified.read_model:
        wrong.append(
            f"the read model differs from the log in {count(len(verified.read_model), 'row')}: "
            "run `contentlog rebuild --accept-differences`"
        )
    if len(verified.claims) > repaired:
        wrong.append(
            "claims, usage or snapshots differ from the log in "
            f"{count(len(verified.claims), 'row')}: run `contentlog verify --repair`"
        )
    if wrong:
        raise ExplainedError("; ".join(wrong))


async def _build_settings(databases: Databases, settings: Settings) -> BuildSettings:
    """Connects to both databases once. Raises DatabaseUnreachable, which names the setting."""
    from projector.rebuild.build import BuildSettings

    async with connect_event_store(databases), connect_read_model(databases):
        pass
    return BuildSettings(
        event_store_url=databases.event_store_url,
        read_model_url=databases.read_model_url,
        workspaces=databases.model.workspaces,
        engine=databases.model.engine,
        workers=settings.rebuild_workers or os.cpu_count() or 1,
        memory=settings.rebuild_memory,
    )
