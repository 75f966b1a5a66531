"""`contentlog import`"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from deploy.databases import Databases, open_repository
from deploy.failures import Failed, explanation, no_content_type, printable
from deploy.import_output import print_result, refusal_text, revert_lines
from deploy.progress import spinner
from deploy.runner import note, operator, run, until_visible
from write_side.domain.events import STATUSES
from write_side.domain.identity import BASE_LANGUAGE, ENVIRONMENTS, PRODUCTION, Scope, new_id
from write_side.domain.refusals import Refused, UnknownContentType, UnknownImport, count
from write_side.imports.request import REPEATS, ImportRequest
from write_side.imports.table import (
    DELIMITERS,
    LIMITS,
    SPLIT_LIMITS,
    Choice,
    Table,
    TooManyRows,
    UnusedChoice,
    fingerprint_of,
)

if TYPE_CHECKING:
    from api.imports.result import ImportResult
    from write_side.domain.definition import Field
    from write_side.imports.importer import ImportRun
    from write_side.repository import Repository

REVERT_OPTIONS = {"revert", "as_json", "workspace", "environment"}


@click.command(
    "import",
    epilog="\b\nExample:\n"
    "  contentlog import posts.xlsx --workspace acme --type posts\n"
    "  contentlog import prices.csv --workspace acme --type posts --map 'Price=eur' --update\n"
    "  contentlog import airports.csv --workspace acme --type airports --split\n"
    "  contentlog import --revert 0199aa00-0000-7000-8000-000000000001",
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--workspace", metavar="W", help="The workspace's slug.")
@click.option(
    "--environment",
    type=click.Choice(ENVIRONMENTS),
    help=f"The environment.  [default: {PRODUCTION}]",
)
@click.option("--type", "kind", metavar="T", help="The content type's slug.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="COLUMN=TARGET",
    help="Map a column, by its heading or number, to Title, Slug, Status, Language, a field, or "
    "nothing (COLUMN=). The others are mapped by their headings.",
)
@click.option(
    "--language",
    default=BASE_LANGUAGE,
    show_default=True,
    metavar="L",
    help="The language of rows that do not name one.",
)
@click.option("--update", is_flag=True, help="Update entries whose slug already exists.")
@click.option(
    "--repeats",
    type=click.Choice(REPEATS),
    help="Rows with the slug of an earlier row: skip them, update its entry, or give derived slugs "
    "a suffix (-2). Required if such rows differ.",
)
@click.option(
    "--key",
    metavar="COLUMN",
    help="Derive slugs from this column, by its heading or number, instead of the title.",
)
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    default="draft",
    show_default=True,
    help="The status of rows that do not name one. Without a Status column, updated entries keep "
    "theirs.",
)
@click.option("--decimal-comma", is_flag=True, help="Read 1.234,5 in number fields, not 1,234.5.")
@click.option("--day-first", is_flag=True, help="Read 31.01.2026 and 31/01/2026 in date fields.")
@click.option("--ready-only", is_flag=True, help="If some rows have errors, import the others.")
@click.option(
    "--split",
    is_flag=True,
    help="Import a file of up to 100,000 rows as several imports of 2,000, one after another. Run "
    "again with the same --import-id to continue after an interruption.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and import nothing.")
@click.option("--import-id", metavar="ID", help="A second import with the same id has no effect.")
@click.option("--sheet", metavar="NAME", help="The sheet of a workbook.  [default: the first]")
@click.option("--encoding", metavar="NAME", help="The encoding of a CSV file.  [default: detected]")
@click.option(
    "--delimiter",
    type=click.Choice(list(DELIMITERS)),
    help="The delimiter of a CSV file.  [default: detected]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the report as JSON, even if rows have errors."
)
@click.option("--revert", metavar="ID", help="Revert the import with this id, permanently.")
@click.pass_context
def import_command(
    context: click.Context,
    /,
    file: Path | None,
    workspace: str | None,
    environment: str | None,
    kind: str | None,
    **options: Any,
) -> None:
    """Import the rows of a CSV or .xlsx file, or revert an import.

    The first row of FILE names the columns. All rows are imported or none: if a cell has an error,
    nothing is imported and the first 10,000 such cells are listed. Rows whose slug already exists
    are skipped, or update that entry (--update).
    """
    if options["revert"] is not None:
        _check_revert_options(context)
        run(lambda databases, _: _revert(databases, workspace, environment, options))
        return
    if file is None or workspace is None or kind is None:
        raise click.UsageError("FILE, --workspace and --type are required")
    request = ImportRequest(
        Scope(workspace, environment or PRODUCTION),
        kind,
        new_id() if options["import_id"] is None else options["import_id"],
        language=options["language"],
        update=options["update"],
        ready_only=options["ready_only"],
        repeats=options["repeats"],
        status=options["status"],
        decimal_comma=options["decimal_comma"],
        day_first=options["day_first"],
    )
    run(lambda databases, _: _import(databases, file, request, options))


async def _import(
    databases: Databases, file: Path, request: ImportRequest, options: Mapping[str, Any]
) -> None:
    """Raises Failed if nothing is imported because of errors or repeats."""
    from api.imports.result import result_of_preview, with_file
    from write_side.handlers.checks import check_scope
    from write_side.handlers.imports import check_import_id
    from write_side.imports.columns import MappingRefused
    from write_side.imports.importer import RepeatsUndecided, RowsRefused
    from write_side.imports.split_parts import scope_of_split

    split, dry_run, refusal = options["split"], options["dry_run"], ""
    choice = Choice(options["sheet"], options["encoding"], DELIMITERS.get(options["delimiter"]))
    check_import_id(request.import_id)
    table = await _read(file, choice, split=split)
    async with open_repository(databases) as repository:
        await check_scope(request.scope, repository)
        try:
            content_type = await repository.content_type(request.scope, request.content_type_slug)
        except UnknownContentType:
            raise no_content_type(request.scope, request.content_type_slug) from None
        if not split and await scope_of_split(repository, request.import_id):
            raise Failed(f"import {request.import_id!r} was split: add --split")
        try:
            request = _with_columns(request, options, table, content_type.value_fields)
            rows = count(len(table.rows), "row")
            with spinner(f"{'checking' if dry_run else 'importing'} {rows}"):
                work = _dry_run if dry_run else _run
                result = await work(repository, table, request, split=split)
        except (RowsRefused, RepeatsUndecided) as refused:
            result = result_of_preview(request.import_id, refused.preview)
            refusal = refusal_text(request, refused.preview)
        except MappingRefused as refused:
            raise Failed(
                f"{explanation(refused)} (--map 'COLUMN=TARGET' maps a column; --map 'COLUMN=' "
                "leaves it out)"
            ) from None
    result = with_file(result, table)
    print_result(result, refusal, dry_run=dry_run, as_json=options["as_json"])
    if not dry_run:
        await until_visible(databases, result.position or 0)


async def _read(file: Path, choice: Choice, *, split: bool) -> Table:
    """Raises Failed if the file has to be split, UsageError if an option does not apply to its
    type."""
    from write_side.imports.file_reader import read_file

    limits = SPLIT_LIMITS if split else LIMITS
    try:
        with spinner(f"reading {file.name}"):
            return await read_file(file, file.name, choice, limits)
    except UnusedChoice as refused:
        raise click.UsageError(str(refused)) from None
    except TooManyRows as refused:
        if refused.rows > SPLIT_LIMITS.rows:
            most = "" if split else f" of up to {SPLIT_LIMITS.rows:,} rows and add --split"
            raise Failed(f"{refused}{most}") from None
        raise Failed(f"{refused}, or add --split to import it in parts") from None


async def _dry_run(
    repository: Repository, table: Table, request: ImportRequest, *, split: bool
) -> ImportResult:
    """Raises RowsRefused, RepeatsUndecided."""
    from api.imports.result import result_of_preview, result_of_report
    from write_side.imports.check import check
    from write_side.imports.importer import check_importable
    from write_side.imports.report import earlier_report
    from write_side.imports.split import parts_before
    from write_side.imports.split_parts import split_fingerprint

    if split:
        fingerprint = await asyncio.to_thread(split_fingerprint, table, request)
        await parts_before(repository, request, fingerprint)
    else:
        fingerprint = await asyncio.to_thread(fingerprint_of, table)
        if earlier := await earlier_report(repository, request, fingerprint):
            return result_of_report(earlier)
    preview = (await check(repository, table, request)).preview
    check_importable(preview, request)
    return result_of_preview(request.import_id, preview)


async def _run_split(whole: ImportRun) -> ImportResult:
    from api.imports.result import result_of_split
    from write_side.domain.entry_changes import actor_name
    from write_side.imports.split import run_split

    has_begun = False

    def report_progress(done: int, parts: int, outcome: str) -> None:
        nonlocal has_begun
        has_begun = True
        click.echo(f"part {done} of {parts}: {outcome}", err=True)

    import_id = whole.request.import_id
    click.echo(f"import id {import_id!r}", err=True)
    try:
        report = await run_split(whole, report_progress)
    except BaseException as error:
        if has_begun or not isinstance(error, Refused):
            note(f"to continue, run the same command with --import-id {import_id}")
        raise
    for row in report.changed_since:
        click.echo(
            f"row {row.number}: {printable(row.slug)} was changed in the meantime; its references "
            "to later rows were not set",
            err=True,
        )
    return result_of_split(import_id, report, actor_name(whole.by))


async def _run(
    repository: Repository, table: Table, request: ImportRequest, *, split: bool
) -> ImportResult:
    """Raises RowsRefused, RepeatsUndecided."""
    from api.imports.result import result_of_report
    from write_side.imports.importer import ImportRun, run_import

    whole = ImportRun(repository, table, request, operator())
    if split:
        return await _run_split(whole)
    return result_of_report(await run_import(whole))


def _with_columns(
    request: ImportRequest, options: Mapping[str, Any], table: Table, fields: Sequence[Field]
) -> ImportRequest:
    """The request with the target of each column, from --map or by its heading. Raises what
    ``map_columns`` raises."""
    from write_side.imports.columns import map_columns

    maps = []
    for each in options["maps"]:
        column, equals, target = each.rpartition("=")
        if not equals:
            raise click.UsageError(f"--map takes COLUMN=TARGET, not {each!r}")
        maps.append((column, target))
    return map_columns(request, maps, options["key"], table, fields)


def _check_revert_options(context: click.Context) -> None:
    """Raises UsageError for an option that a revert would ignore, such as --dry-run."""
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if is_given and name not in REVERT_OPTIONS:
            what = parameter.opts[0] if isinstance(parameter, click.Option) else "FILE"
            raise click.UsageError(f"--revert cannot be combined with {what}")


async def _revert(
    databases: Databases,
    workspace: str | None,
    environment: str | None,
    options: Mapping[str, Any],
) -> None:
    """Raises UnknownImport, also if the import is not in the given workspace and environment, and
    UnknownWorkspace."""
    from api.imports.result import result_of_revert
    from write_side.handlers.imports import check_import_id
    from write_side.imports.report import revert_import
    from write_side.imports.split_parts import revert_split, scope_of_split

    import_id = options["revert"]
    check_import_id(import_id)
    async with open_repository(databases) as repository:
        if workspace is not None:
            await repository.workspace(workspace)
        recorded, place = await repository.find_import(import_id), None
        if recorded is not None and recorded[0].environment is not None:
            place = Scope(recorded[0].workspace, recorded[0].environment)
        place = place or await scope_of_split(repository, import_id)
        if place is None:
            raise UnknownImport(import_id)
        scope = Scope(workspace or place.workspace, environment or place.environment)
        revert = revert_split if recorded is None else revert_import
        reverted = await revert(repository, scope, import_id, operator())
    if options["as_json"]:
        click.echo(msgspec.json.encode(result_of_revert(reverted)))
    else:
        click.echo("\n".join(revert_lines(reverted)))
    await until_visible(databases, reverted.position)
