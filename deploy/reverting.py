"""What `contentlog import --revert ID` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
from click.core import ParameterSource
from msgspec import Struct

from deploy.databases import Databases, open_repository
from deploy.work import operator, until_visible

if TYPE_CHECKING:
    from write_side.domain.identity import Scope
    from write_side.repository import Repository

BESIDE = {"revert", "as_json", "workspace", "environment"}
"""The options that go with --revert."""


class AskedBack(Struct, frozen=True):
    """What was typed: None where the import's own place will do."""

    import_id: str
    workspace: str | None
    environment: str | None
    json: bool


def asked_back(context: click.Context) -> AskedBack:
    """Raises UsageError for what a revert does not heed: who types it expects something of it,
    such as --dry-run."""
    typed = {
        parameter.name: parameter
        for parameter in context.command.params
        if parameter.name
        and context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    }
    for name, parameter in typed.items():
        if name not in BESIDE:
            what = parameter.opts[0] if isinstance(parameter, click.Option) else "FILE"
            raise click.UsageError(f"--revert takes no {what}")
    given = context.params
    return AskedBack(
        given["revert"],
        given["workspace"],
        given["environment"] if "environment" in typed else None,
        given["as_json"],
    )


async def revert(found: Databases, asked: AskedBack) -> None:
    from api.import_result import result_of_revert
    from deploy.importing import lines_of_revert
    from write_side.imports.report import revert_import

    async with open_repository(found) as repository:
        scope = await _place(repository, asked)
        reverted = await revert_import(repository, scope, asked.import_id, operator())
    if asked.json:
        click.echo(msgspec.json.encode(result_of_revert(reverted)))
    else:
        click.echo("\n".join(lines_of_revert(reverted)))
    await until_visible(found, reverted.position)


async def _place(repository: Repository, asked: AskedBack) -> Scope:
    """Where it is asked to be. Raises UnknownImport, and UnknownWorkspace for one that is none."""
    from write_side.domain.identity import Scope
    from write_side.domain.refusals import UnknownImport
    from write_side.handlers.imports import check_import_id

    check_import_id(asked.import_id)
    if asked.workspace is not None:
        await repository.workspace(asked.workspace)
    recorded = await repository.find_import(asked.import_id)
    if recorded is None or recorded[0].environment is None:
        raise UnknownImport(asked.import_id)
    return Scope(
        asked.workspace or recorded[0].workspace, asked.environment or recorded[0].environment
    )
