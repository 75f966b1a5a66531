"""`contentlog export`"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.databases import Databases, open_read_model, open_repository
from deploy.failures import Failed, no_content_type
from deploy.runner import UNATTENDED_TIMEOUT, environment_option, note, run, workspace_option
from write_side.domain.events import STATUSES
from write_side.domain.identity import BASE_LANGUAGE, Scope
from write_side.domain.refusals import count

if TYPE_CHECKING:
    from read_side.export import Export
    from read_side.paging import Filters

ANY = "any"
STANDARD_OUTPUT = Path("-")
FORMATS = ("csv", "xlsx")


@click.command(
    "export",
    epilog="\b\nExample:\n  contentlog export --workspace acme --type posts --output posts.xlsx\n"
    "  contentlog export --workspace acme --type posts --output - | head",
)
@workspace_option
@environment_option
@click.option("--type", "kind", required=True, metavar="T", help="The content type's slug.")
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    help="Only entries of this status.  [default: any]",
)
@click.option(
    "--language",
    default=BASE_LANGUAGE,
    show_default=True,
    metavar="L",
    help=f"Their language; {ANY!r} for entries of every language, with a Language column.",
)
@click.option(
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="A name that ends in .csv or .xlsx; - is standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="The format of the file.  [default: by its name; csv for -]",
)
def export_command(
    workspace: str,
    environment: str,
    kind: str,
    status: str | None,
    language: str,
    output: Path,
    form: str | None,
) -> None:
    """Export the entries of a content type as CSV or .xlsx.

    The file has the newest entries, up to 5,000, and can be imported again. An existing FILE is
    replaced only when the export is complete.
    """
    from read_side.export import LIMIT
    from read_side.paging import Filters

    form, scope = _format(output, form), Scope(workspace, environment)
    filters = Filters(kind, status, None if language == ANY else language)
    with _destination(output) as path:
        export = run(lambda databases, _: _export(databases, scope, filters, path, form))
    exported = f"{count(export.written, 'entry', 'entries')} exported"
    if output == STANDARD_OUTPUT:
        note(exported)
    else:
        click.echo(f"{exported} to {output}")
    if export.total > LIMIT:
        note(f"{export.total:,} entries match; only the newest {LIMIT:,} were exported")


def _format(output: Path, chosen: str | None) -> str:
    """The format that the option or the file name gives. Raises BadParameter for an unknown one,
    UsageError if the two contradict each other."""
    named = output.suffix.lower().removeprefix(".")
    form = chosen or ("csv" if output == STANDARD_OUTPUT else named)
    if form not in FORMATS:
        raise click.BadParameter(
            f"unsupported file type {str(output)!r}; expected .csv or .xlsx", param_hint="--output"
        )
    if named in FORMATS and named != form:
        raise click.UsageError(
            f"the file name {str(output)!r} contradicts --format {form}: change one of them"
        )
    return form


@contextlib.contextmanager
def _destination(output: Path) -> Iterator[Path]:
    """The file to write. Standard output, a pipe or a device gets it when it is complete."""
    # pathlib's functions raise an error for a path that may not be looked at.
    is_special = os.path.exists(output) and not os.path.isfile(output)  # noqa: PTH110, PTH113
    if output != STANDARD_OUTPUT and not is_special:
        yield output
        return
    with tempfile.TemporaryDirectory(prefix="contentlog-") as folder:
        path = Path(folder) / "export"
        yield path
        with _writing(output), path.open("rb") as file, click.open_file(str(output), "wb") as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()


async def _export(
    databases: Databases, scope: Scope, filters: Filters, output: Path, form: str
) -> Export:
    from read_side.export import export
    from read_side.lookups import languages
    from read_side.refusals import TypeNotFound

    async with open_read_model(databases) as pool:
        await _check(databases, scope)
        try:
            exported = await export(pool, scope, filters)
            with _replacing(output) as path:
                await _write(exported, path, form)
            if not exported.total:
                _note_languages(filters, await languages(pool, scope))
        except TypeNotFound:
            raise no_content_type(scope, filters.type_slug or "") from None
    return exported


def _note_languages(filters: Filters, used: Collection[str]) -> None:
    in_use = f"languages in use: {', '.join(used)}" if used else "there are no entries"
    status = f" with status {filters.status!r}" if filters.status else ""
    language = f" in language {filters.language!r}" if filters.language else ""
    note(f"no entries{status}{language} match; {in_use}")


async def _check(databases: Databases, scope: Scope) -> None:
    """Refuses an unknown environment, and prints a note if the read model is behind the log."""
    from read_side.checkpoint import wait_until_visible
    from write_side.handlers.checks import check_scope

    async with open_repository(databases) as repository:
        await check_scope(scope, repository)
        head = await repository.recorder.head()
    if not await wait_until_visible(databases.read_model_url, head, UNATTENDED_TIMEOUT):
        note(
            "the read model is behind the log; the latest changes are not exported "
            "(see contentlog status)"
        )


async def _write(exported: Export, path: Path, form: str) -> None:
    from api.export.table import csv_chunks
    from api.export.xlsx_file import write_xlsx

    if form == "xlsx":
        await write_xlsx(exported, path)
        return
    with path.open("wb") as file:
        async for chunk in csv_chunks(exported):
            file.write(chunk)


@contextlib.contextmanager
def _replacing(output: Path) -> Iterator[Path]:
    """A path to write to, in a temporary folder next to the output. The file replaces the output,
    or what it links to, at the end; after a failure nothing is left."""
    target = Path(os.path.realpath(output))
    with (
        _writing(output),
        tempfile.TemporaryDirectory(prefix=".contentlog-", dir=target.parent) as folder,
    ):
        path = Path(folder) / output.name
        yield path
        path.replace(target)


@contextlib.contextmanager
def _writing(output: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failed(f"cannot write {str(output)!r}: {error.strerror or error}") from error
