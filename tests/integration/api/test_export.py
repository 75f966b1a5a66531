"""An export over HTTP returns a file, a refusal before the file starts, or a broken connection."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import re
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import aiohttp
import openpyxl
import pytest
from aiohttp import web

from api.context import Call, Service
from api.export import table
from api.export.response import export_response
from api.rest.request_checks import check_read, with_checks
from api.server import application
from read_side.export import LIMIT, Export, ExportRow
from read_side.paging import Filters
from read_side.refusals import ReadModelUnavailable
from tests.integration.api import server as module
from tests.integration.api.server import ACME, Server, serving
from tests.integration.bulk_rows import fill
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import raws
from write_side.imports.file_reader import read_file
from write_side.repository import Repository

HEADINGS = "ID,Title,Slug,Status,Content type,Created,Updated,Published,Body"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
KEY = {"Authorization": f"Bearer {ACME}"}
REQUESTS: list[web.Request] = []
"""The requests that the export handler received."""
pages_of = Export.pages


async def exporting(call: Call) -> Any:
    REQUESTS.append(call.request)
    match_info = call.request.match_info
    kind: Literal["csv", "xlsx"] = "xlsx" if match_info["kind"] == "xlsx" else "csv"
    filters = Filters(match_info["type"], call.request.query.get("status"))
    return await export_response(call, filters, kind)


def with_exports(service: Service) -> web.Application:
    app = application(service)
    app.add_routes([web.get("/export/{type}.{kind}", with_checks(check_read, exporting))])
    return app


@asynccontextmanager
async def with_server(
    database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Server]:
    """A server with two entries and a route that exports them."""
    monkeypatch.setattr(module, "application", with_exports)
    async with serving(database_url, repository) as server:
        builder = await server.workspace()
        await builder.content_type()
        await builder.entry("one", status="published", fields=raws(body="=1+1"))
        await builder.entry("two", fields=raws(body="Two,\nagain"))
        await server.caught_up()
        yield server


@pytest.fixture
async def server(
    database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Server]:
    async with with_server(database_url, repository, monkeypatch) as server:
        yield server


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def nothing_left_in(folder: Path) -> None:
    """Waits, because a response may arrive before its temporary file is removed."""

    async def nothing() -> bool:
        return not files_in(folder)

    await until(nothing)


class Paused:
    """Splits the export into pages of one entry and holds all but the first until released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.first = asyncio.Event()
        self.released = asyncio.Event()
        self.given = 0
        paused = self

        async def pages(export: Export) -> AsyncIterator[list[ExportRow]]:
            async for page in pages_of(export):
                for row in page:
                    paused.given += 1
                    yield [row]
                    paused.first.set()
                    await paused.released.wait()

        monkeypatch.setattr(Export, "pages", pages)


async def test_csv_is_a_download_with_a_file_name(server: Server) -> None:
    async with server.session.get("/export/posts.csv", headers=KEY) as response:
        text = (await response.read()).decode()
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(
        r'attachment; filename="posts-production-\d{4}-\d\d-\d\d\.csv"',
        response.headers["Content-Disposition"],
    )
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert (response.headers["X-Content-Exported"], response.headers["X-Content-Total"]) == (
        "2",
        "2",
    )
    two, one = r"[\w-]{36},Two,two,draft,Posts", r"[\w-]{36},One,one,published,Posts"
    expected = (
        f"\ufeff{HEADINGS}\r\n"
        f'{two},{TIME},{TIME},,"Two,\nagain"\r\n'
        f"{one},{TIME},{TIME},{TIME},'=1\\+1\r\n"
    )
    assert re.fullmatch(expected, text), text


async def test_xlsx_is_a_download_with_a_file_name_and_leaves_nothing(
    server: Server, temporary: Path
) -> None:
    async with server.session.get("/export/posts.xlsx?status=published", headers=KEY) as response:
        document = await response.read()
    assert response.headers["Content-Type"] == XLSX
    assert response.headers["Content-Disposition"].endswith('.xlsx"')
    assert int(response.headers["Content-Length"]) == len(document)
    [sheet] = openpyxl.load_workbook(io.BytesIO(document)).worksheets
    [headings, row] = [list(cells) for cells in sheet.iter_rows(values_only=True)]
    assert headings == HEADINGS.split(",")
    assert row[1:5] == ["One", "one", "published", "Posts"]
    assert row[8] == "=1+1"
    await nothing_left_in(temporary)


async def test_the_references_of_a_page_are_looked_up_by_a_thread(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_main_thread: list[tuple[str, bool]] = []

    def recorded(name: str) -> Callable[..., Any]:
        work = getattr(table, name)

        def call(*args: Any) -> Any:
            on_main_thread.append((name, threading.current_thread() is threading.main_thread()))
            return work(*args)

        return call

    for name in ("_ids", "_names"):
        monkeypatch.setattr(table, name, recorded(name))
    async with server.session.get("/export/posts.csv", headers=KEY) as response:
        await response.read()
    assert on_main_thread == [("_ids", False), ("_names", False)]


async def test_an_empty_export_has_only_headings(server: Server) -> None:
    answer = await server.client().get("/export/posts.csv?status=archived")
    assert (answer.status, answer.text) == (200, f"\ufeff{HEADINGS}\r\n")


async def test_head_returns_the_same_headers_without_a_body(server: Server) -> None:
    for kind in ("csv", "xlsx"):
        answer = await server.client().ask("HEAD", f"/export/posts.{kind}")
        assert (answer.status, answer.text) == (200, "")
        assert answer.headers["X-Content-Total"] == "2"
    assert (await server.client().get("/export/posts.csv")).status == 200


async def test_above_5000_the_newest_are_exported_with_a_note(server: Server) -> None:
    await fill(server.url, LIMIT + 3)
    answer = await server.client().get("/export/posts.csv")
    assert answer.headers["X-Content-Exported"] == "5000"
    assert answer.headers["X-Content-Total"] == "5005"
    lines = answer.text.splitlines()
    assert len(lines) == 1 + LIMIT
    assert (",Entry 1,entry-1," in lines[1], ",Entry 5000,entry-5000," in lines[-1]) == (True, True)


async def test_refusals_are_sent_before_any_data(
    server: Server, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = server.client()
    await server.key("editor's", "acme", ("content.edit",))
    for answer, status, message in [
        (await client.get("/export/nothing.csv"), 404, "Content type not found"),
        (await client.get("/export/nothing.xlsx"), 404, "Content type not found"),
        (await server.client("wrong").get("/export/posts.csv"), 401, "Unauthorized"),
        (await server.client("editor's").get("/export/posts.csv"), 403, "content.view"),
    ]:
        assert answer.status == status
        assert message in answer.body["error"]

    async def fails(_: Export) -> AsyncIterator[list[ExportRow]]:
        raise ReadModelUnavailable
        yield []

    monkeypatch.setattr(Export, "pages", fails)
    for kind in ("csv", "xlsx"):
        answer = await client.get(f"/export/posts.{kind}")
        assert (answer.status, answer.headers["Content-Type"]) == (503, "application/json")
    await nothing_left_in(temporary)


async def test_a_text_longer_than_a_cell_is_exported_whole(server: Server) -> None:
    await fill(server.url, 1, stored='{"body": "' + "x" * 100_000 + '"}')
    async with server.session.get("/export/posts.xlsx", headers=KEY) as response:
        assert response.status == 200
        document = await response.read()
    table = await read_file(document, "posts.xlsx")
    assert table.rows[0].cells[8] == "x" * 100_000
    assert len(table.rows) == 3


async def test_a_fault_during_the_export_aborts_the_connection(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(export: Export) -> AsyncIterator[list[ExportRow]]:
        async for page in pages_of(export):
            yield page
        raise ReadModelUnavailable

    monkeypatch.setattr(Export, "pages", fails)
    async with server.session.get("/export/posts.csv", headers=KEY) as response:
        assert response.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


@pytest.mark.parametrize("where", ["tempfile.mkdtemp", "api.export.xlsx_file.XlsxFile.add"])
async def test_a_workbook_on_a_full_disk_is_503_and_one_line(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(where, full)
    refused = await server.client().get("/export/posts.xlsx")
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    logged = capsys.readouterr().out
    full_disk = "no temporary file for a large request or response: No space left on device"
    assert logged.count(full_disk) == 1
    assert "Traceback" not in logged


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_an_export_stops_when_the_client_disconnects(
    kind: str, server: Server, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(server.url, 50)
    paused = Paused(monkeypatch)
    request = asyncio.create_task(server.client().get(f"/export/posts.{kind}"))
    await paused.first.wait()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)

    async def noticed() -> bool:
        transport = REQUESTS[-1].transport
        return transport is None or transport.is_closing()

    await until(noticed)
    paused.released.set()
    await nothing_left_in(temporary)
    assert paused.given <= 2


@pytest.mark.slow
async def test_an_export_in_progress_leaves_nothing_when_the_service_stops(
    database_url: str, repository: Repository, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Paused(monkeypatch)
    async with aiohttp.ClientSession(headers=KEY) as client:
        async with with_server(database_url, repository, monkeypatch) as server:
            url = server.session._build_url("/export/posts.xlsx")
            request = asyncio.create_task(client.get(url))
            await paused.first.wait()
            assert files_in(temporary)
        await nothing_left_in(temporary)
        with pytest.raises(aiohttp.ClientError):
            await request


@pytest.mark.slow
async def test_other_requests_are_served_while_a_large_file_is_built(server: Server) -> None:
    await fill(server.url, LIMIT, stored='{"body": "' + "x" * 500 + '"}')
    client = server.client()
    export = asyncio.create_task(server.session.get("/export/posts.xlsx", headers=KEY))
    answered = 0
    while not export.done():
        assert (await client.get("/healthz")).status == 200
        answered += 1
    (await export).close()
    assert answered > 10
