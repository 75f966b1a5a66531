"""`contentlog import`"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource
from msgspec import Struct

from deploy.databases import Databases, open_repository
from deploy.failures import Failed
from deploy.progress import spinner
from deploy.runner import operator, run, until_visible
from write_side.domain.identity import BASE_LANGUAGE, ENVIRONMENTS, PRODUCTION

if TYPE_CHECKING:
    from api.import_result import ImportResult
    from write_side.domain.definition import Field
    from write_side.domain.identity import Scope
    from write_side.imports.preview import State
    from write_side.imports.report import KeptEntry, Reverted
    from write_side.imports.request import Options
    from write_side.imports.table import Choice

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
REVERT_OPTIONS = {"revert", "as_json", "workspace", "environment"}


class Arguments(Struct, frozen=True):
    """The arguments of an import."""

    file: Path
    scope: Scope
    kind: str
    maps: tuple[str, ...]
    options: Options
    choice: Choice
    import_id: str
    dry_run: bool
    as_json: bool


@click.command(
    "import",
    epilog="\b\nExample:\n"
    "  contentlog import posts.xlsx --workspace acme --type posts\n"
    "  contentlog import prices.csv --workspace acme --type posts --map 'Price=eur' --update\n"
    "  contentlog import --revert 0199aa00-0000-7000-8000-000000000001",
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--workspace", metavar="W", help="The workspace's slug.")
@click.option(
    "--environment",
    show_default=PRODUCTION,
    type=click.Choice(ENVIRONMENTS),
    help="The environment.",
)
@click.option("--type", "kind", metavar="T", help="The content type's slug.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="COLUMN=TARGET",
    help="Map a column, by its heading or number, to Title, Slug, Status, a field, or nothing "
    "(COLUMN=). The others are mapped by their headings.",
)
@click.option(
    "--language",
    default=BASE_LANGUAGE,
    show_default=True,
    metavar="L",
    help="The entries' language.",
)
@click.option("--update", is_flag=True, help="Update entries whose slug already exists.")
@click.option("--ready-only", is_flag=True, help="If some rows have errors, import the others.")
@click.option("--dry-run", is_flag=True, help="Check everything, and import nothing.")
@click.option("--import-id", metavar="ID", help="An import with the same id has no effect again.")
@click.option("--sheet", metavar="NAME", help="The sheet of a workbook.  [default: the first]")
@click.option("--encoding", metavar="NAME", help="The encoding of a CSV file.  [default: detected]")
@click.option(
    "--delimiter",
    type=click.Choice(list(DELIMITERS)),
    help="The delimiter of a CSV file.  [default: detected]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, on errors too.")
@click.option("--revert", metavar="ID", help="Revert the import with this id, for good.")
@click.pass_context
def import_command(
    context: click.Context,
    /,
    file: Path | None,
    workspace: str | None,
    environment: str | None,
    kind: str | None,
    import_id: str | None,
    delimiter: str | None,
    **given: Any,
) -> None:
    """Import the rows of a CSV or .xlsx file, or revert an import.

    The first row of FILE names the columns. All rows or none: if a cell has an error, nothing is
    imported and every such cell is listed. Rows whose slug already exists are skipped, or update
    that entry (--update).
    """
    from write_side.domain.identity import PRODUCTION, Scope, new_id
    from write_side.imports.request import Options
    from write_side.imports.table import Choice

    if given["revert"] is not None:
        _check_revert_options(context)
        run(
            lambda found, _: _revert(
                found, given["revert"], workspace, environment, as_json=given["as_json"]
            )
        )
        return
    if file is None or workspace is None or kind is None:
        raise click.UsageError("FILE, --workspace and --type are required")
    arguments = Arguments(
        file,
        Scope(workspace, environment or PRODUCTION),
        kind,
        given["maps"],
        Options(given["language"], given["update"], given["ready_only"]),
        Choice(given["sheet"], given["encoding"], DELIMITERS[delimiter] if delimiter else None),
        import_id or new_id(),
        given["dry_run"],
        given["as_json"],
    )
    run(lambda found, _: _import(found, arguments))


async def _import(found: Databases, arguments: Arguments) -> None:
    from api.import_result import result_of_preview, result_of_report
    from write_side.domain.workspace import check_environment
    from write_side.handlers.imports import check_import_id
    from write_side.imports.check import preview
    from write_side.imports.file_reader import read_file
    from write_side.imports.importer import PreviewOutdated, RowsRefused, run_import
    from write_side.imports.report import earlier_report
    from write_side.imports.request import ImportRequest

    scope, dry_run, import_id = arguments.scope, arguments.dry_run, arguments.import_id
    check_import_id(import_id)
    with spinner(f"reading {arguments.file.name}"):
        table = await read_file(arguments.file, arguments.file.name, arguments.choice)
    async with open_repository(found) as repository:
        workspace = await repository.workspace(scope.workspace)
        check_environment(workspace.plan, workspace.environments, scope)
        content_type = await repository.content_type(scope, arguments.kind)
        targets = _targets(arguments.maps, table.headings, content_type.value_fields)
        request = ImportRequest(scope, arguments.kind, import_id, targets, arguments.options)
        refused = False
        with spinner(f"{'checking' if dry_run else 'importing'} {len(table.rows):,} rows"):
            if not dry_run:
                try:
                    report = await run_import(repository, table, request, operator())
                    assert not isinstance(report, PreviewOutdated), (
                        "there was no preview to differ from"
                    )
                    result = result_of_report(report)
                except RowsRefused as error:
                    result, refused = result_of_preview(import_id, error.preview), True
            elif earlier := await earlier_report(repository, content_type, request):
                result = result_of_report(earlier)
            else:
                checked = await preview(repository, table, request)
                result = result_of_preview(import_id, checked)
                refused = bool(result.counts["error"]) and not request.options.ready_only
    _print(result, dry_run=dry_run, refused=refused, as_json=arguments.as_json)
    if not dry_run:
        await until_visible(found, result.position)


def _print(result: ImportResult, *, dry_run: bool, refused: bool, as_json: bool) -> None:
    """Raises Failed where the import is refused."""
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        severities = ("error", "warning") if dry_run and not result.replayed else ("error",)
        for severity in severities:
            for line in _problems(result, severity):
                click.echo(line)
    if refused:
        nothing = "nothing would be imported" if dry_run else "nothing was imported"
        raise Failed(f"{nothing}: {result.counts['error']} rows have errors")
    if not as_json:
        click.echo(_outcome(result, dry_run=dry_run))


def _problems(result: ImportResult, severity: str) -> Iterator[str]:
    """A line for each cell with an error or a warning."""
    for row in result.rows:
        for note in row.cells:
            if note.severity == severity:
                place = f"row {row.row}, {note.column}" if note.column else f"row {row.row}"
                cell = f"{note.cell!r} " if note.cell else ""
                yield f"{place}: {cell}{note.reason}"


def _outcome(result: ImportResult, *, dry_run: bool) -> str:
    if result.replayed:
        earlier = f"import {result.import_id!r} has already run"
        if result.reverted is None:
            return f"{earlier}: no changes"
        reverted = f"was reverted by {result.reverted.by} at {_time(result.reverted.at)}"
        return (
            f"{earlier} and {reverted}: no changes; to import the file again, use another "
            "--import-id"
        )
    counts = result.counts
    words: dict[State, str] = {
        "new": f"{'entry' if counts['new'] == 1 else 'entries'} "
        f"{'would be imported' if dry_run else 'imported'}",
        "update": "updated",
        "unchanged": "unchanged",
        "skipped": "skipped because their slug exists",
        "error": "left out because of errors",
    }
    summary = ", ".join(f"{counts[state]} {text}" for state, text in words.items() if counts[state])
    summary = summary or "the file has no rows"
    if dry_run:
        return summary
    if not result.imported:
        return f"nothing imported: {summary}"
    return f"{summary}; import id {result.import_id!r}"


def _targets(
    maps: Sequence[str], headings: Sequence[str], fields: Sequence[Field]
) -> tuple[str, ...]:
    """The target of each column: from --map, else by its heading. Raises Failed where there is no
    such column or target, or where a heading has no target."""
    from write_side.imports.columns import NOTHING, MappingRefused, column_targets, matched

    offered = [target.target for target in column_targets(fields)]
    names = [*offered, *(target.name for target in column_targets(fields))]
    given: dict[int, str] = {}
    for each in maps:
        column, equals, target = each.rpartition("=")
        if not equals:
            raise click.UsageError(f"--map takes COLUMN=TARGET, not {each!r}")
        found = _find(target, names) if target.strip() else []
        if target.strip() and not found:
            raise Failed(f"unknown target {target!r}; there are: {', '.join(offered)}")
        given[_column(column, headings)] = names[found[0] % len(offered)] if found else NOTHING
    try:
        return matched(headings, fields, given)
    except MappingRefused as refused:
        raise Failed(
            f"{refused} (map a column with --map 'COLUMN=TARGET', or leave it out with "
            "--map 'COLUMN=')"
        ) from None


def _column(name: str, headings: Sequence[str]) -> int:
    found = _find(name, headings)
    if len(found) > 1:
        numbers = ", ".join(str(n + 1) for n in found)
        raise Failed(f"several columns are named {name!r}: give its number, one of {numbers}")
    if found:
        return found[0]
    if name.isdecimal() and 0 < int(name) <= len(headings):
        return int(name) - 1
    raise Failed(f"the file has no column {name!r}; it has: {', '.join(headings)}")


def _find(name: str, names: Sequence[str]) -> list[int]:
    """The indexes of what is named so exactly, else as headings are compared."""
    from write_side.imports.columns import folded

    for same in (str.strip, folded):
        if found := [n for n, other in enumerate(names) if same(other) == same(name)]:
            return found
    return []


def _check_revert_options(context: click.Context) -> None:
    """Raises UsageError for an option that a revert would ignore, such as --dry-run."""
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if is_given and name not in REVERT_OPTIONS:
            what = parameter.opts[0] if isinstance(parameter, click.Option) else "FILE"
            raise click.UsageError(f"--revert cannot be combined with {what}")


async def _revert(
    found: Databases,
    import_id: str,
    workspace: str | None,
    environment: str | None,
    *,
    as_json: bool,
) -> None:
    """Raises UnknownImport, also where the import is not in the workspace and environment given,
    and UnknownWorkspace."""
    from api.import_result import result_of_revert
    from write_side.domain.identity import Scope
    from write_side.domain.refusals import UnknownImport
    from write_side.handlers.imports import check_import_id
    from write_side.imports.report import revert_import

    check_import_id(import_id)
    async with open_repository(found) as repository:
        if workspace is not None:
            await repository.workspace(workspace)
        recorded = await repository.find_import(import_id)
        if recorded is None or recorded[0].environment is None:
            raise UnknownImport(import_id)
        scope = Scope(workspace or recorded[0].workspace, environment or recorded[0].environment)
        reverted = await revert_import(repository, scope, import_id, operator())
    if as_json:
        click.echo(msgspec.json.encode(result_of_revert(reverted)))
    else:
        click.echo("\n".join(_revert_lines(reverted)))
    await until_visible(found, reverted.position)


def _revert_lines(reverted: Reverted) -> Iterator[str]:
    if reverted.replayed:
        yield (
            f"import {reverted.import_id!r} was already reverted by {reverted.by} "
            f"at {_time(reverted.at)}: no changes"
        )
        return
    yield (
        f"import {reverted.import_id!r} was reverted: {len(reverted.deleted)} deleted, "
        f"{len(reverted.restored)} restored"
    )
    if reverted.restored:
        yield "note: entries that the revert publishes again have its time as publishedAt"
    if reverted.deleted:
        yield "note: references of other entries to the deleted ones are unchanged"
    for entry in reverted.changed_since:
        yield f"{_kept(entry, 'changed')}: not reverted"
    for entry in reverted.gone:
        yield _kept(entry, "already deleted")


def _kept(entry: KeptEntry, what: str) -> str:
    return f"{entry.slug} ({entry.entry_id}) was {what} by {entry.by} at {_time(entry.at)}"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
