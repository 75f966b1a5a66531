"""`contentlog import`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from deploy import reverting
from deploy.databases import Databases, open_repository
from deploy.failures import Failed
from deploy.showing import working
from deploy.work import operator, run, until_visible

if TYPE_CHECKING:
    from api.import_result import ImportResult
    from write_side.imports.request import ImportRequest, Options
    from write_side.imports.table import Choice, Table
    from write_side.repository import Repository

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}


class Asked(Struct, frozen=True):
    """What was typed."""

    file: Path
    workspace: str
    environment: str
    kind: str
    maps: tuple[str, ...]
    options: Options
    choice: Choice
    import_id: str
    dry_run: bool
    json: bool


@click.command(
    "import",
    short_help="Import the rows of a CSV or .xlsx file as entries, or take an import back.",
    epilog="\b\nExample:\n"
    "  contentlog import posts.xlsx --workspace acme --type posts\n"
    "  contentlog import prices.csv --workspace acme --type posts --map 'Price=eur' --update\n"
    "  contentlog import --revert 0199aa00-0000-7000-8000-000000000001",
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--workspace", metavar="W", help="The workspace's slug.")
@click.option(
    "--environment",
    default="production",
    show_default=True,
    type=click.Choice(["production", "staging"]),
    help="The environment.",
)
@click.option("--type", "kind", metavar="T", help="The content type's slug.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="COLUMN=TARGET",
    help="A column, by its heading or number, and what it holds: Title, Slug, Status, a field, "
    "or nothing (COLUMN=). The others go by their headings.",
)
@click.option("--language", default="en-US", show_default=True, metavar="L", help="Of the entries.")
@click.option("--update", is_flag=True, help="Update entries whose slug already exists.")
@click.option("--ready-only", is_flag=True, help="Where rows have errors, import the others.")
@click.option("--dry-run", is_flag=True, help="Check everything, and import nothing.")
@click.option("--import-id", metavar="ID", help="An id with which this import happens once.")
@click.option("--sheet", metavar="NAME", help="The sheet of a workbook; else its first.")
@click.option("--encoding", metavar="NAME", help="Of a CSV file; else it is found out.")
@click.option(
    "--delimiter", type=click.Choice(list(DELIMITERS)), help="Of a CSV file; else found out."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, on errors too.")
@click.option("--revert", metavar="ID", help="Take back the import of this id, for good.")
def command(
    file: Path | None,
    workspace: str | None,
    environment: str,
    kind: str | None,
    maps: tuple[str, ...],
    language: str,
    import_id: str | None,
    sheet: str | None,
    encoding: str | None,
    delimiter: str | None,
    revert: str | None,
    *,
    update: bool,
    ready_only: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import FILE, whose first row names the columns.

    All rows or none: where a cell is wrong nothing is imported, and every such cell is named.
    Rows whose slug exists already are skipped, or update that entry (--update).
    """
    from write_side.domain.identity import new_id
    from write_side.imports.request import Options
    from write_side.imports.table import Choice

    if revert is not None:
        asked_back = reverting.asked_back(click.get_current_context())
        run(lambda found: reverting.revert(found, asked_back))
        return
    if file is None or workspace is None or kind is None:
        raise click.UsageError("FILE, --workspace and --type are needed")
    asked = Asked(
        file,
        workspace,
        environment,
        kind,
        maps,
        Options(language, update, ready_only),
        Choice(sheet, encoding, DELIMITERS[delimiter] if delimiter else None),
        import_id or new_id(),
        dry_run,
        as_json,
    )
    run(lambda found: _import(found, asked))


async def _import(found: Databases, asked: Asked) -> None:
    from api.import_result import result_of_report
    from deploy.mapping import typed_targets
    from write_side.domain.identity import Scope
    from write_side.domain.workspace import check_environment
    from write_side.handlers.imports import check_import_id
    from write_side.imports.file_reader import read_file
    from write_side.imports.report import earlier_report
    from write_side.imports.request import ImportRequest

    check_import_id(asked.import_id)
    with working(f"reading {asked.file.name}"):
        table = await read_file(asked.file, asked.file.name, asked.choice)
    async with open_repository(found) as repository:
        scope = Scope(asked.workspace, asked.environment)
        workspace = await repository.workspace(asked.workspace)
        check_environment(workspace.plan, workspace.environments, scope)
        content_type = await repository.content_type(scope, asked.kind)
        targets = typed_targets(asked.maps, table.headings, content_type.value_fields)
        wish = ImportRequest(scope, asked.kind, asked.import_id, targets, asked.options)
        if asked.dry_run:
            before = await earlier_report(repository, content_type, wish)
            if before is None:
                await _check(repository, table, wish, as_json=asked.json)
            else:
                _tell_before(result_of_report(before), as_json=asked.json)
            return
        told = await _imported(repository, table, wish, as_json=asked.json)
    _tell(told, as_json=asked.json)
    await until_visible(found, told.position)


async def _check(
    repository: Repository, table: Table, wish: ImportRequest, *, as_json: bool
) -> None:
    from api.import_result import result_of_preview
    from deploy.importing import lines_of, summary
    from write_side.imports.check import preview

    with working(f"checking {len(table.rows):,} rows"):
        told = result_of_preview(wish.import_id, await preview(repository, table, wish))
    if as_json:
        _print(told)
    else:
        for line in (*lines_of(told, "error"), *lines_of(told, "warning")):
            click.echo(line)
    if told.counts["error"] and not wish.options.ready_only:
        raise Failed(f"nothing would be imported: {told.counts['error']} rows have errors")
    if not as_json:
        click.echo(summary(told.counts, "would be imported") or "the file has no rows")


async def _imported(
    repository: Repository, table: Table, wish: ImportRequest, *, as_json: bool
) -> ImportResult:
    from api.import_result import result_of_preview, result_of_report
    from deploy.importing import lines_of
    from write_side.imports.importer import Changed, RowsRefused, run_import

    try:
        with working(f"importing {len(table.rows):,} rows"):
            report = await run_import(repository, table, wish, operator())
    except RowsRefused as refused:
        told = result_of_preview(wish.import_id, refused.preview)
        if as_json:
            _print(told)
        else:
            click.echo("\n".join(lines_of(told, "error")))
        raise Failed(f"nothing was imported: {told.counts['error']} rows have errors") from None
    assert not isinstance(report, Changed), "nothing was shown that could have changed"
    return result_of_report(report)


def _tell_before(told: ImportResult, *, as_json: bool) -> None:
    from deploy.importing import told_of_before

    if as_json:
        _print(told)
    else:
        click.echo(told_of_before(told, "nothing would be done"))


def _tell(told: ImportResult, *, as_json: bool) -> None:
    from deploy.importing import lines_of, summary, told_of_before

    if as_json:
        _print(told)
        return
    for line in lines_of(told, "error"):
        click.echo(line)
    done = summary(told.counts, "imported")
    if told.replayed:
        click.echo(told_of_before(told, "nothing was done"))
    elif not told.imported:
        click.echo(f"nothing to import: {done or 'the file has no rows'}")
    else:
        click.echo(f"{done}; the import's id is {told.import_id}")


def _print(told: ImportResult) -> None:
    click.echo(msgspec.json.encode(told))
