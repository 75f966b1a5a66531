"""`contentlog export`"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.databases import Databases, open_read_model, open_repository
from deploy.failures import Failed
from deploy.runner import UNATTENDED_TIMEOUT, environment_option, run, workspace_option
from write_side.domain.events import STATUSES
from write_side.domain.identity import BASE_LANGUAGE

if TYPE_CHECKING:
    from read_side.export import Export
    from read_side.paging import Filters
    from write_side.domain.identity import Scope


def _with_suffix(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    if path.suffix.lower() not in (".csv", ".xlsx"):
        raise click.BadParameter(f"unsupported file type {str(path)!r}; expected .csv or .xlsx")
    return path


@click.command(
    "export",
    epilog="\b\nExample:\n  contentlog export --workspace acme --type posts --output posts.xlsx",
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
    "--language", default=BASE_LANGUAGE, show_default=True, metavar="L", help="Their language."
)
@click.option(
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_with_suffix,
    help="A name that ends in .csv or .xlsx.",
)
def export_command(
    workspace: str, environment: str, kind: str, status: str | None, language: str, output: Path
) -> None:
    """Export the entries of a content type as CSV or .xlsx.

    The file has the newest entries, up to 5,000, and can be imported again. An existing FILE is
    replaced only when the export is complete.
    """
    from read_side.export import LIMIT
    from read_side.paging import Filters
    from write_side.domain.identity import Scope

    scope, filters = Scope(workspace, environment), Filters(kind, status, language)
    export = run(lambda found, _: _export(found, scope, filters, output), create=False)
    entries = "entry" if export.written == 1 else "entries"
    click.echo(f"{export.written:,} {entries} exported to {output}")
    if export.total > LIMIT:
        click.echo(
            f"note: {export.total:,} entries match; only the newest {LIMIT:,} were exported",
            err=True,
        )


async def _export(found: Databases, scope: Scope, filters: Filters, output: Path) -> Export:
    from api.export.table import csv_chunks
    from api.export.xlsx_file import write_xlsx
    from read_side.export import export
    from read_side.refusals import ReadModelUnavailable, TypeNotFound

    await _check(found, scope)
    async with open_read_model(found) as pool:
        try:
            exported = await export(pool, scope, filters)
            with _replacing(output) as path:
                if output.suffix.lower() == ".xlsx":
                    await write_xlsx(exported, path)
                else:
                    await _write(csv_chunks(exported), path)
        except TypeNotFound:
            raise Failed(
                f"there is no content type {filters.type_slug!r} in {scope.environment} "
                f"of {scope.workspace!r}"
            ) from None
        except ReadModelUnavailable as error:
            raise Failed(f"PostgreSQL does not answer: {error.__cause__!r}") from error
    return exported


async def _check(found: Databases, scope: Scope) -> None:
    """Refuse an unknown environment, and note where the read model is behind the log."""
    from read_side.checkpoint import wait_until_visible
    from write_side.domain.workspace import check_environment

    async with open_repository(found) as repository:
        workspace = await repository.workspace(scope.workspace)
        check_environment(workspace.plan, workspace.environments, scope)
        head = await repository.recorder.head()
    if not await wait_until_visible(found.read_model_url, head, UNATTENDED_TIMEOUT):
        click.echo(
            "note: the read model is behind the log; the latest changes are not exported "
            "(see contentlog status)",
            err=True,
        )


async def _write(chunks: AsyncIterator[bytes], path: Path) -> None:
    with path.open("wb") as file:
        async for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def _replacing(output: Path) -> Iterator[Path]:
    """A path to write to, in a temporary folder next to the output; it replaces the output at the
    end, and leaves nothing behind after a failure."""
    try:
        with tempfile.TemporaryDirectory(prefix=".contentlog-", dir=output.parent) as folder:
            path = Path(folder) / output.name
            yield path
            path.replace(output)
    except OSError as error:
        raise Failed(f"cannot write {str(output)!r}: {error.strerror or error}") from error
