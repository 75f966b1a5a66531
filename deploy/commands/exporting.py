"""`contentlog export`"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.databases import Databases, open_read_model, open_repository
from deploy.failures import Failed
from deploy.work import UNATTENDED, run
from write_side.domain.events import STATUSES

if TYPE_CHECKING:
    from read_side.export import Export
    from read_side.paging import Filters
    from write_side.domain.identity import Scope


class Output(click.Path):
    """A file whose name says what is written to it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix.lower() not in (".csv", ".xlsx"):
            self.fail(f"{path} must end in .csv or .xlsx: so the format is chosen", param, ctx)
        return path


@click.command(
    "export",
    short_help="Export the entries of a type as CSV or .xlsx.",
    epilog="\b\nExample:\n  contentlog export --workspace acme --type posts --output posts.xlsx",
)
@click.option("--workspace", required=True, metavar="W", help="The workspace's slug.")
@click.option(
    "--environment",
    default="production",
    show_default=True,
    type=click.Choice(["production", "staging"]),
    help="The environment.",
)
@click.option("--type", "kind", required=True, metavar="T", help="The content type's slug.")
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    help="Only entries of this status.  [default: any]",
)
@click.option("--language", default="en-US", show_default=True, metavar="L", help="Their language.")
@click.option(
    "--output", required=True, metavar="FILE", type=Output(), help="A name in .csv or .xlsx."
)
def command(
    workspace: str, environment: str, kind: str, status: str | None, language: str, output: Path
) -> None:
    """Write the newest entries of a content type, up to 5,000, to a file that import reads back.

    FILE is replaced when all is written, and not before.
    """
    from read_side.paging import Filters
    from write_side.domain.identity import Scope

    scope, filters = Scope(workspace, environment), Filters(kind, status or "", language)

    async def work(found: Databases) -> Export:
        await _check(found, scope)
        return await _export(found, scope, filters, output)

    written = run(work, make=False)
    _tell(written, output)


async def _check(found: Databases, scope: Scope) -> None:
    """That the environment is there, and whether all that is in the log can be read."""
    from read_side.checkpoint import wait_until_visible
    from write_side.domain.workspace import check_environment

    async with open_repository(found) as repository:
        workspace = await repository.workspace(scope.workspace)
        check_environment(workspace.plan, workspace.environments, scope)
        head = await repository.recorder.head()
    if not await wait_until_visible(found.read_model_url, head, UNATTENDED):
        click.echo(
            "note: the read model is behind the log; what it lacks is not exported "
            "(see contentlog status)",
            err=True,
        )


async def _export(found: Databases, scope: Scope, filters: Filters, output: Path) -> Export:
    from api.export.table import csv_chunks
    from api.export.xlsx_file import write_xlsx
    from read_side.export import export
    from read_side.refusals import ReadModelUnavailable, TypeNotFound

    async with open_read_model(found) as pool:
        try:
            wanted = await export(pool, scope.workspace, scope.environment, filters)
            with _replacing(output) as path:
                if output.suffix.lower() == ".xlsx":
                    await write_xlsx(wanted, path)
                else:
                    await _write(csv_chunks(wanted), path)
        except TypeNotFound:
            raise Failed(
                f"There is no content type {filters.type_slug!r} in {scope.environment} "
                f"of {scope.workspace}"
            ) from None
        except ReadModelUnavailable as error:
            raise Failed(f"PostgreSQL does not answer: {error.__cause__!r}") from error
    return wanted


async def _write(chunks: AsyncIterator[bytes], path: Path) -> None:
    with path.open("wb") as file:
        async for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def _replacing(output: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of the output at the end; of a failure nothing is
    left. It is in a folder of its own beside it, where it may have files of its own."""
    try:
        with tempfile.TemporaryDirectory(prefix=".contentlog-", dir=output.parent) as folder:
            path = Path(folder) / output.name
            yield path
            path.replace(output)
    except OSError as error:
        raise Failed(f"{output} cannot be written: {error.strerror or error}") from error


def _tell(written: Export, output: Path) -> None:
    from read_side.export import LIMIT

    entries = "entry" if written.written == 1 else "entries"
    click.echo(f"{written.written:,} {entries} exported to {output}")
    if written.total > LIMIT:
        click.echo(
            f"note: {written.total:,} entries match; the newest {LIMIT:,} were exported", err=True
        )
