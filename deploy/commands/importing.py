"""`contentlog import`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.databases import Databases, open_repository
from deploy.failures import Failed
from deploy.work import login_name, run, until_visible

if TYPE_CHECKING:
    from write_side.imports.prepare import Prepared, Wish


@click.command(
    "import",
    short_help="Import the rows of a CSV file as entries.",
    epilog="\b\nExample:\n  contentlog import posts.csv --workspace acme --type posts",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--workspace", required=True, metavar="W", help="The workspace's slug.")
@click.option(
    "--environment",
    default="production",
    show_default=True,
    type=click.Choice(["production", "staging"]),
    help="The environment.",
)
@click.option("--type", "kind", required=True, metavar="T", help="The content type's slug.")
@click.option("--dry-run", is_flag=True, help="Check everything, and import nothing.")
@click.option("--import-id", metavar="ID", help="An id with which this import happens once.")
def command(
    file: Path, workspace: str, environment: str, kind: str, dry_run: bool, import_id: str | None
) -> None:
    """Import FILE, a CSV in UTF-8 whose headings name Title, Slug, Status and the fields.

    All rows or none: where a cell is wrong nothing is imported, and every such cell is named.
    Rows whose slug exists already are skipped.
    """
    from write_side.domain.identity import Scope, new_id
    from write_side.imports.prepare import Wish

    wish = Wish(Scope(workspace, environment), kind, import_id or new_id(), login_name())

    async def work(found: Databases) -> None:
        await _import(found, file, wish, dry_run=dry_run)

    run(work)


async def _import(found: Databases, file: Path, wish: Wish, *, dry_run: bool) -> None:
    from write_side.dispatch import execute
    from write_side.imports.files import read_table
    from write_side.imports.prepare import prepare

    table = read_table(file)
    async with open_repository(found) as repository:
        await repository.workspace(wish.scope.workspace)
        prepared = await prepare(table, wish, repository)
        _refuse_problems(prepared)
        if prepared.command is None:
            click.echo(f"nothing to import, {prepared.skipped} skipped")
            return
        if dry_run:
            click.echo(_told("would be imported", prepared))
            return
        executed = await execute(prepared.command, repository)
    if executed.replayed:
        click.echo(f"the import {wish.import_id} was carried out before: nothing was done")
    else:
        click.echo(f"{_told('imported', prepared)}; the import's id is {wish.import_id}")
    await until_visible(found, executed.position)


def _refuse_problems(prepared: Prepared) -> None:
    for problem in prepared.problems:
        click.echo(f"row {problem.row}, {problem.column}: {problem.reason}")
    if prepared.problems:
        raise Failed(f"nothing was imported: {len(prepared.problems)} cells cannot be")


def _told(verb: str, prepared: Prepared) -> str:
    made = len(prepared.command.entries) if prepared.command else 0
    return f"{made} entries {verb}, {prepared.skipped} skipped because their slug exists"
