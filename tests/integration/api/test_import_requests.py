"""Imports over HTTP are accepted at once, executed later, and reported as by the command."""

from __future__ import annotations

import asyncio
import io
import re
import threading
import zipfile
import zlib
from typing import Any

import pytest
import pytest_asyncio
import xlsxwriter
from aiohttp import MultipartReader

from api.imports import endpoints, multipart_form
from api.rest import idempotency
from api.rest.tokens import POSITION
from tests.contract import Contract
from tests.integration.api.import_requests import GOOD, PATH, accepted, done, ended, form, send
from tests.integration.api.server import Answer, Client, Server
from tests.integration.api.test_refusals import refused
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import BODY, ContentBuilder
from tests.time_limits import at_most
from write_side.domain.definition import Field
from write_side.imports import jobs, preview, report

pytestmark = pytest.mark.asyncio(loop_scope="module")

_JOBS = "SELECT count(*) FROM write_side.import_job WHERE workspace = 'acme' || $1"
_RESULT = "SELECT result FROM write_side.import_job WHERE workspace = 'acme' || $1"
_REPLACE_RESULT = "UPDATE write_side.import_job SET result = $2 WHERE workspace = 'acme' || $1"
ONCE = {"Idempotency-Key": "once"}


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def posts(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type(BODY, Field("views", "Views", "number"))
    return acme


async def titles(client: Client, status: str = "draft", *, path: str = "") -> list[str]:
    """Sorted titles of the posts. ``path``: an import whose entries the list must include."""
    headers = {}
    if path:
        headers["X-Content-Position"] = (await client.get(path)).headers["X-Content-Position"]
    answer = await client.get(f"/v1/content/posts?status={status}&limit=100", headers=headers)
    return sorted(entry["title"] for entry in answer.data)


def check_contract(answer: Answer, method: str, path: str) -> None:
    """Check the response against the OpenAPI document."""
    Contract().check(method, path, answer.status, answer.headers, answer.text)


async def waiting(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process executes imports."""

    async def none(*_: Any) -> None:
        return None

    monkeypatch.setattr(jobs, "claim_job", none)


async def test_the_digest_of_a_file_does_not_block_the_event_loop(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def digest(body: bytes) -> bytes:
        threads.append(threading.current_thread())
        return idempotency.digest(body)

    monkeypatch.setattr(endpoints, "digest", digest)
    await accepted(client)
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


async def test_the_position_of_an_import_can_be_waited_for(client: Client) -> None:
    path = await accepted(client)
    await ended(client, path)
    position = (await client.get(path)).headers["X-Content-Position"]
    answer = await client.get(
        "/v1/content/posts?status=draft", headers={"X-Content-Position": position}
    )
    assert len(answer.data) == 2


async def test_an_import_returns_a_newer_position_of_the_client(client: Client) -> None:
    path = await accepted(client)
    await ended(client, path)
    created = await client.post({"contentTypeSlug": "posts", "title": "Later"})
    newer = {"X-Content-Position": created.headers["X-Content-Position"]}
    assert newer.items() <= (await client.get(path, headers=newer)).headers.items()


async def test_an_import_is_in_progress_until_its_report_has_the_notes_of_its_cells(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notes are stored after the entries are appended."""
    end_job, appended, shown = jobs.end_job, asyncio.Event(), asyncio.Event()

    async def end_later(*args: Any) -> None:
        appended.set()
        await shown.wait()
        await end_job(*args)

    monkeypatch.setattr(jobs, "end_job", end_later)
    path = await accepted(client, b"Title,Status,Body\nOne,odd,x\n")
    await appended.wait()
    answer = await client.get(path)
    shown.set()
    assert (answer.data["state"], answer.data["report"]) == ("importing", None)
    one = await ended(client, path)
    assert (one["state"], len(one["report"]["rows"][0]["cells"])) == ("imported", 1)


async def test_an_import_that_ends_during_a_request_is_in_progress_or_can_be_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance_job, end_job, import_report = jobs.advance_job, jobs.end_job, report.import_report
    checked, read, imported = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def advance_later(*args: Any) -> None:
        await advance_job(*args)
        if "importing" in args:
            checked.set()
            await read.wait()

    async def end(*args: Any) -> None:
        await end_job(*args)
        imported.set()

    async def report_before_the_end(*args: Any) -> report.Report:
        try:
            return await import_report(*args)
        finally:
            read.set()
            await imported.wait()

    monkeypatch.setattr(jobs, "advance_job", advance_later)
    monkeypatch.setattr(jobs, "end_job", end)
    monkeypatch.setattr(endpoints, "import_report", report_before_the_end)
    path = await accepted(client)
    await checked.wait()
    answer = await client.get(path)
    assert (answer.data["state"], POSITION in answer.headers) == ("importing", False)
    answer = await client.get(path)
    assert (answer.data["state"], POSITION in answer.headers) == ("imported", True)


async def test_problems_beyond_the_limit_are_counted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "MOST_NOTES", 1)
    one = await done(client, b"Title,Views\nOne,many\n,many\n")
    assert [len(row["cells"]) for row in one["report"]["rows"]] == [1, 1]
    assert [row.get("omitted") for row in one["report"]["rows"]] == [
        None,
        {"errors": 1, "warnings": 0},
    ]
    assert one["report"]["omitted"] == {"errors": 1, "warnings": 0}
    path = f"{PATH}/{one['id']}"
    check_contract(await client.get(path), "GET", path)


async def test_a_column_with_cells_needs_a_heading_or_a_choice(client: Client) -> None:
    one = await done(client, b"Title,Body,\nOne,x,7\n")
    assert (one["state"], one["report"]) == ("refused", None)
    assert "cells without a heading are in column 3 (C: 1 cell)" in one["message"]
    assert "the part map[COLUMN] maps a column" in one["message"]
    assert (await done(client, b"Title,Body,\nOne,x,\n"))["state"] == "imported"
    unknown = await done(client, b"Title,Body\nTwo,x\n", key="SKU")
    assert unknown["message"] == "The file has no column 'SKU'; it has: Title, Body"
    assert (await done(client, b"Title,Body,SKU\nTwo,x,7\n", key="SKU"))["state"] == "imported"


async def test_a_file_that_cannot_be_read_is_refused_with_the_reason(client: Client) -> None:
    one = await done(client, b"\n\n")
    assert (one["state"], one["report"]) == ("refused", None)
    assert (
        one["message"]
        == "posts.csv has no headings: write the names of the columns into the first row"
    )
    unmapped = await done(client, b"Title,Colour\nA,red\n")
    assert (unmapped["state"], "'Colour'" in unmapped["message"]) == ("refused", True)


async def test_a_refusal_may_quote_a_heading_with_a_nul(client: Client) -> None:
    document = io.BytesIO()
    with xlsxwriter.Workbook(document) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["Title", "_x0000_"])
        sheet.write_row(1, 0, ["A", "x"])
    # XlsxWriter escapes "_x0000_" as literal text; undo that.
    one = await done(
        client,
        recompressed(document.getvalue(), b"_x005F_x0000_", b"_x0000_"),
        name="x.xlsx",
        map_Colour="body",
    )
    assert (one["state"], "it has: Title, \ufffd" in one["message"]) == ("refused", True)


def recompressed(document: bytes, text: bytes, other: bytes) -> bytes:
    """The workbook with ``text`` replaced by ``other``."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(document)) as book, zipfile.ZipFile(found, "w") as copy:
        for name in book.namelist():
            copy.writestr(name, book.read(name).replace(text, other))
    return found.getvalue()


class TestIdempotency:
    async def test_two_at_once_are_one_import(self, client: Client) -> None:
        answers = await asyncio.gather(*(send(client, headers=ONCE) for _ in range(2)))
        found = {answer.text for answer in answers if answer.status == 202}
        assert len(found) == 1
        assert {answer.status for answer in answers} <= {202, 409}

    async def test_after_a_day_the_key_is_free(self, server: Server, client: Client) -> None:
        first = await send(client, headers=ONCE)
        await ended(client, first.headers["Location"])
        async with connected(server.url) as connection:
            await connection.execute(
                "UPDATE write_side.import_job SET at = at - interval '25 hours'"
            )
        assert (await send(client, headers=ONCE)).text != first.text


_MISSING = "Missing required parts: "


class TestRefusals:
    @pytest.mark.parametrize("sign", ['"', ";", ';a="\\"'])
    async def test_a_long_content_type_takes_little_time(self, sign: str, client: Client) -> None:
        headers = {"Content-Type": f"Multipart/Form-Data; boundary={(sign * 8_000)[:8_000]}"}
        with at_most(0.1):
            answer = await client.ask("POST", PATH, headers, data=b"x")
        refused(answer, 400, multipart_form.UNREADABLE)

    async def test_invalid_imports(self, server: Server, client: Client) -> None:
        for answer in (
            await send(client, sheet="Data"),
            await send(client, dryRun=""),
            await send(client, headers={"Idempotency-Key": "é"}),
        ):
            refused(answer, 400)
            assert "Access-Control-Allow-Origin" not in answer.headers
        refused(await send(client, headers={"Content-Encoding": "gzip"}), 415, endpoints.ENCODED)
        long = await send(client, language="x" * 4_097)
        refused(long, 400, "Part 'language' is too long: the limit is 4,096 bytes")
        unnamed, named = "file (with a file name)", "contentType"
        refused(await send(client, document=None), 400, _MISSING + unnamed)
        refused(await send(client, name=""), 400, _MISSING + unnamed)
        refused(await send(client, contentType=" "), 400, _MISSING + named)
        assert await _stored_jobs(server) == 0

    @pytest.mark.parametrize("disposition", ['form-data; name=x"', "form-data; a b=x", "x y"])
    async def test_malformed_headers_of_parts_are_not_logged(
        self, disposition: str, client: Client, capfd: pytest.CaptureFixture[str]
    ) -> None:
        body = f"--x\r\nContent-Disposition: {disposition}\r\n\r\n\r\n--x--\r\n"
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = await client.ask("POST", PATH, headers, data=body.encode())
        refused(answer, 400, _MISSING + "file (with a file name) and contentType")
        assert disposition not in capfd.readouterr().err

    async def test_the_checks_have_their_order(self, server: Server) -> None:
        await server.key("reader", "acme", ("content.view",))
        for secret, path, status in (
            (None, "?environment=prod", 401),
            ("reader", "?environment=prod", 403),
            ("secret-of-acme", "?environment=prod", 400),
            ("secret-of-acme", "?environment=staging", 404),
        ):
            client = server.client(secret)
            refused(await client.ask("POST", PATH + path, data=b"x"), status)
            refused(await client.get(f"{PATH}/x{path}"), status)
            refused(await client.ask("POST", f"{PATH}/x/revert{path}"), status)

    async def test_too_many_waiting_imports(
        self, server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await waiting(server, monkeypatch)
        await server.workspace("rival")
        for _ in range(jobs.MOST_OF_WORKSPACE):
            await accepted(client)
        full = await send(client)
        refused(full, 429, "imports in progress, please retry in 5 seconds")
        assert full.headers["Retry-After"] == "5"
        monkeypatch.setattr(jobs, "MOST_IN_ALL", jobs.MOST_OF_WORKSPACE)
        monkeypatch.setattr(jobs, "MOST_OF_WORKSPACE", 100)
        everywhere = await send(client)
        refused(everywhere, 503)
        assert everywhere.headers["Retry-After"] == "1"


async def _stored_jobs(server: Server) -> int:
    async with connected(server.url) as connection:
        return int(await connection.fetchval(_JOBS, server.suffix))


async def test_the_form_is_what_curl_sends() -> None:
    """``curl -F file=@posts.csv -F contentType=posts`` may send the file first."""
    assert form(GOOD)._fields[0][0]["name"] == "file"


async def test_progress_is_shown_while_it_waits(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await waiting(server, monkeypatch)
    path = await accepted(client)
    answer: Answer = await client.get(path)
    assert answer.data["progress"] == {"rows": None, "done": 0}
    assert (answer.data["state"], answer.data["report"]) == ("checking", None)
    refused(await client.ask("POST", f"{path}/revert"), 409)


async def test_a_result_with_microseconds_from_an_earlier_version_is_shown(
    server: Server, client: Client
) -> None:
    path = await accepted(client)
    await ended(client, path)
    async with connected(server.url) as connection:
        stored = await connection.fetchval(_RESULT, server.suffix)
        older, replaced = re.subn(
            rb'("at":"[^"]+[.]\d{3})Z', rb"\g<1>000Z", zlib.decompress(stored)
        )
        assert replaced == 1
        await connection.execute(_REPLACE_RESULT, server.suffix, zlib.compress(older))
    assert re.search(r"[.]\d{6}Z", (await client.get(path)).data["report"]["at"])


async def test_other_requests_are_served_while_the_parts_of_a_form_are_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = '--x\r\nContent-Disposition: form-data; name="map[{}]"\r\n\r\n\r\n'
    body = "".join(map(part.format, range(100))) + "--x--\r\n"
    turns, reads = 0, []
    read = MultipartReader.next

    async def counted(reader: Any) -> Any:
        reads.append(turns)
        return await read(reader)

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(MultipartReader, "next", counted)
    counting = asyncio.create_task(count())
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = await client.ask("POST", PATH, headers, data=body)
    counting.cancel()
    assert answer.status == 400
    assert len(set(reads)) == len(reads) == 101
